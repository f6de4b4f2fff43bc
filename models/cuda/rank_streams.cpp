// The GPU side of a rank: queues, events, kernels and collectives.
#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <variant>

#include "models/cuda/rank.hpp"

namespace shardsim::cuda {

using simcore::SimTime;

void Rank::push(std::uint32_t index, const Issued& issued) {
  Stream& stream = streams_[index];
  if (stream.count == stream.ring.size()) {
    std::vector<Issued> larger(std::max<std::size_t>(16, stream.ring.size() * 2));
    for (std::uint32_t i = 0; i < stream.count; ++i) {
      larger[i] = stream.ring[(stream.head + i) & (stream.ring.size() - 1)];
    }
    stream.ring = std::move(larger);
    stream.head = 0;
  }
  if (stream.count == 0 && !stream.running) ++busy_streams_;
  stream.ring[(stream.head + stream.count) & (stream.ring.size() - 1)] = issued;
  ++stream.count;
  if (stream.count == 1) dirty_ |= std::uint64_t{1} << index;
}

void Rank::pop(Stream& stream) {
  stream.head = (stream.head + 1) & static_cast<std::uint32_t>(stream.ring.size() - 1);
  --stream.count;
}

bool Rank::idle() const { return busy_streams_ == 0; }

void Rank::progress(std::uint32_t index) {
  Stream& stream = streams_[index];
  while (!stream.running && stream.count > 0) {
    const Issued front = stream.ring[stream.head];
    const SimTime ready = front.first + context_.spec.launch_latency;
    if (ready > context_.queue.now()) {
      if (!stream.wake_pending) {
        stream.wake_pending = true;
        context_.queue.schedule(ready, context_.receiver,
                                static_cast<std::uint32_t>(RankEvent::stream_wake),
                                std::uint64_t{slot_} << 16 | index);
      }
      return;
    }
    if (!try_start(index, front)) return;
  }
}

/// Handles the front of the queue; false if it has to wait.
bool Rank::try_start(std::uint32_t index, const Issued& front) {
  Stream& stream = streams_[index];
  if ((front.op & internal_bit) != 0) {
    pop(stream);
    if (stream.count == 0) --busy_streams_;
    complete_internal(front.op & ~internal_bit);
    return true;
  }
  const Op& op = program_.ops[front.op];
  switch (op.code) {
    case OpCode::record_event:
      pop(stream);
      if (stream.count == 0) --busy_streams_;
      complete_event(op.index);
      return true;
    case OpCode::stream_wait_event:
      if (event_times_[op.index] == SimTime::never()) {
        stream.blocked_event = op.index;
        return false;
      }
      stream.blocked_event = UINT32_MAX;
      pop(stream);
      if (stream.count == 0) --busy_streams_;
      return true;
    case OpCode::kernel:
      pop(stream);
      return start_kernel(index, front);
    case OpCode::collective: {
      const CommunicatorId id = program_.collectives[op.index].communicator;
      if (communicators_[id].completed != front.ticket) {
        stream.blocked_communicator = id;
        return false;
      }
      stream.blocked_communicator = UINT32_MAX;
      pop(stream);
      start_collective(index, front);
      return false;
    }
    default:
      assert(false && "not a stream operation");
      return false;
  }
}

/// The operation's time at the present load, if it ran so from beginning to end.
SimTime Rank::kernel_time(std::uint32_t op) const {
  const SimTime time = setup_.kernel_times->by_load[load_][program_.ops[op].index];
  if (setup_.compute_slowdown == 1) return time;
  return SimTime::picoseconds(static_cast<std::int64_t>(
      std::llround(static_cast<double>(time.picoseconds()) * setup_.compute_slowdown)));
}

bool Rank::start_kernel(std::uint32_t index, const Issued& front) {
  Stream& stream = streams_[index];
  const SimTime now = context_.queue.now();
  stream.running = true;
  stream.running_collective = false;
  stream.current = front;
  stream.started = now;
  stream.updated = now;
  stream.left = 1;
  // Several launches recorded as one operation: the last of them cannot have run before it was
  // issued, however fast the GPU is.
  stream.floor = now;
  if (front.last > front.first) {
    const KernelSpec& kernel = program_.kernels[program_.ops[front.op].index];
    const auto* work = std::get_if<gpu::MemoryBoundWork>(&kernel.work);
    const int launches = work != nullptr ? std::max(1, work->launches) : 1;
    stream.floor = front.last + context_.spec.launch_latency +
                   SimTime::picoseconds(kernel_time(front.op).picoseconds() / launches);
  }
  schedule_end(index);
  return false;
}

void Rank::schedule_end(std::uint32_t index) {
  Stream& stream = streams_[index];
  const auto whole = static_cast<double>(kernel_time(stream.current.op).picoseconds());
  const auto rest =
      SimTime::picoseconds(static_cast<std::int64_t>(std::llround(stream.left * whole)));
  const SimTime end = std::max(stream.updated + rest, stream.floor);
  stream.launch_bound = end - (stream.updated + rest);
  stream.end_event = context_.queue.schedule(end, context_.receiver,
                                             static_cast<std::uint32_t>(RankEvent::kernel_end),
                                             std::uint64_t{slot_} << 16 | index);
}

/// A collective starts or ends on this GPU: kernels that run go on at another pace.
void Rank::collective_load_changes(std::uint32_t op, int difference) {
  const KernelTimes& times = *setup_.kernel_times;
  if (times.collective_bit.empty()) return;
  const std::uint32_t bit = times.collective_bit[program_.ops[op].index];
  load_counts_[bit] = static_cast<std::uint8_t>(load_counts_[bit] + difference);
  const std::uint32_t load = load_counts_[bit] > 0 ? load_ | 1U << bit : load_ & ~(1U << bit);
  if (load == load_) return;
  const SimTime now = context_.queue.now();
  for (Stream& stream : streams_) {
    if (!stream.running || stream.running_collective) continue;
    const auto whole = std::max<std::int64_t>(1, kernel_time(stream.current.op).picoseconds());
    const double passed =
        static_cast<double>((now - stream.updated).picoseconds()) / static_cast<double>(whole);
    stream.left = std::max(0.0, stream.left - passed);
    stream.updated = now;
  }
  load_ = load;
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    if (!streams_[index].running || streams_[index].running_collective) continue;
    context_.queue.cancel(streams_[index].end_event);
    schedule_end(index);
  }
}

void Rank::start_collective(std::uint32_t index, const Issued& front) {
  Stream& stream = streams_[index];
  const CollectiveSpec& spec = program_.collectives[program_.ops[front.op].index];
  stream.running = true;
  stream.running_collective = true;
  stream.current = front;
  stream.started = context_.queue.now();
  stream.launch_bound = SimTime{};
  communicators_[spec.communicator].stream = index;
  collective_load_changes(front.op, 1);
  const Membership& place = setup_.communicators[spec.communicator];
  context_.backend.arrive(place.instance, place.member, spec);
}

void Rank::collective_ended(CommunicatorId id) {
  Communicator& communicator = communicators_[id];
  ++communicator.completed;
  const std::uint32_t op = streams_[communicator.stream].current.op;
  finish_current(streams_[communicator.stream]);
  dirty_ |= std::uint64_t{1} << communicator.stream;
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    if (streams_[index].blocked_communicator == id) dirty_ |= std::uint64_t{1} << index;
  }
  collective_load_changes(op, -1);
  run();
}

void Rank::finish_current(Stream& stream) {
  stream.running = false;
  if (stream.count == 0) --busy_streams_;
  if (context_.probes.op_finished.has_listeners()) {
    context_.probes.op_finished(OpRecord{slot_, stream.current.op, stream.current.first,
                                         stream.started, context_.queue.now(),
                                         stream.launch_bound});
  }
}

void Rank::complete_event(EventId event) {
  event_times_[event] = context_.queue.now();
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    if (streams_[index].blocked_event == event) dirty_ |= std::uint64_t{1} << index;
  }
}

void Rank::complete_internal(std::uint32_t event) {
  internal_times_[event] = context_.queue.now();
  --internal_open_;
}

void Rank::on_event(RankEvent kind, std::uint32_t index) {
  switch (kind) {
    case RankEvent::kernel_end:
      finish_current(streams_[index]);
      break;
    case RankEvent::stream_wake:
      streams_[index].wake_pending = false;
      break;
    case RankEvent::cpu_wake:
      cpu_state_ = CpuState::running;
      run();
      return;
  }
  dirty_ |= std::uint64_t{1} << index;
  run();
}

void Rank::run() {
  do {
    if (cpu_can_proceed()) advance_cpu();
    while (dirty_ != 0) {
      const auto index = static_cast<std::uint32_t>(std::countr_zero(dirty_));
      dirty_ &= dirty_ - 1;
      progress(index);
    }
  } while (cpu_can_proceed());
}

}  // namespace shardsim::cuda

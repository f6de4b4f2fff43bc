// The GPU side of a rank: queues, events, kernels and collectives.
#include <algorithm>
#include <bit>
#include <cassert>

#include "models/cuda/kernel_progress.hpp"
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

bool Rank::can_go_on() const {
  if (cpu_state_ == CpuState::running || cpu_state_ == CpuState::waiting_time) return true;
  for (const Stream& stream : streams_) {
    if (stream.wake_pending) return true;
    if (!stream.running) continue;
    if (!stream.running_collective && !stream.endless) return true;
    if (!stream.running_collective) continue;
    const Op& op = program_.ops[stream.current.op];
    if (communicators_[program_.collectives[op.index].communicator].moving) return true;
  }
  return false;
}

bool Rank::idle() const { return busy_streams_ == 0; }

void Rank::progress(std::uint32_t index) {
  Stream& stream = streams_[index];
  while (!stream.running && stream.count > 0) {
    const Issued front = stream.ring[stream.head];
    SimTime ready = front.first + context_.spec.launch_latency;
    if (setup_.pace != nullptr) {
      ready = std::max(ready, setup_.pace->after(context_.queue.now(), SimTime{}));
      if (front.first == SimTime::never() || ready == SimTime::never()) return;
    }
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
SimTime Rank::kernel_time(std::uint32_t op, double factor) const {
  const SimTime time = setup_.kernel_times->by_load[load_][program_.ops[op].index];
  return scaled(time, setup_.compute_slowdown * factor);
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
  stream.factor = setup_.pace == nullptr ? 1 : setup_.pace->factor(front.op);
  // Several launches recorded as one operation: the last of them cannot have run before it was
  // issued, however fast the GPU is.
  stream.floor = now;
  if (front.last > front.first) {
    const int launches = launches_of(program_.kernels[program_.ops[front.op].index]);
    stream.floor =
        front.last + context_.spec.launch_latency +
        SimTime::picoseconds(kernel_time(front.op, stream.factor).picoseconds() / launches);
  }
  schedule_end(index);
  return false;
}

void Rank::schedule_end(std::uint32_t index) {
  Stream& stream = streams_[index];
  const auto whole =
      static_cast<double>(kernel_time(stream.current.op, stream.factor).picoseconds());
  const auto rest = SimTime::picoseconds(nearest(stream.left * whole));
  SimTime ready = stream.updated + rest;
  if (setup_.pace != nullptr) ready = setup_.pace->after(stream.updated, rest);
  const SimTime end = std::max(ready, stream.floor);
  stream.launch_bound = end - ready;
  stream.endless = end == SimTime::never();
  if (stream.endless) return;
  stream.end_event = context_.queue.schedule(end, context_.receiver,
                                             static_cast<std::uint32_t>(RankEvent::kernel_end),
                                             std::uint64_t{slot_} << 16 | index);
}

const LoadStep& Rank::load_step(std::uint32_t op) const {
  static constexpr LoadStep none;
  const std::vector<LoadStep>& steps = setup_.kernel_times->steps;
  return steps.empty() ? none : steps[program_.ops[op].index];
}

void Rank::change_load(std::uint32_t load) {
  if (load == load_) return;
  const SimTime now = context_.queue.now();
  for (Stream& stream : streams_) {
    if (!stream.running || stream.running_collective) continue;
    const SimTime whole = kernel_time(stream.current.op, stream.factor);
    const SimTime worked =
        setup_.pace == nullptr ? now - stream.updated : setup_.pace->worked(stream.updated, now);
    stream.left = left_after(stream.left, worked, whole);
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
  change_load(load_ + load_step(front.op).waiting);
  const Membership& place = setup_.communicators[spec.communicator];
  context_.backend.arrive(place.instance, place.member, spec);
}

void Rank::collective_moves(CommunicatorId id) {
  communicators_[id].moving = true;
  const LoadStep& step = load_step(streams_[communicators_[id].stream].current.op);
  change_load(load_ - step.waiting + step.moving);
}

void Rank::collective_ended(CommunicatorId id) {
  Communicator& communicator = communicators_[id];
  ++communicator.completed;
  communicator.moving = false;
  const std::uint32_t op = streams_[communicator.stream].current.op;
  finish_current(streams_[communicator.stream]);
  dirty_ |= std::uint64_t{1} << communicator.stream;
  for (std::uint32_t index = 0; index < streams_.size(); ++index) {
    if (streams_[index].blocked_communicator == id) dirty_ |= std::uint64_t{1} << index;
  }
  change_load(load_ - load_step(op).moving);
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

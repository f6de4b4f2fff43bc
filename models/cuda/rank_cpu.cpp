// The CPU side of a rank: issues the program in order and decides allocations.
#include <algorithm>
#include <cassert>
#include <utility>

#include "models/cuda/kernel_progress.hpp"
#include "models/cuda/rank.hpp"
#include "simcore/quantity_text.hpp"

namespace shardsim::cuda {

using simcore::Bytes;
using simcore::SimTime;

Rank::Rank(RankContext& context, const RankSetup& setup, std::uint32_t slot)
    : context_(context),
      setup_(setup),
      program_(*setup.program),
      slot_(slot),
      streams_(program_.streams.size()),
      communicators_(program_.communicators.size()),
      event_times_(program_.event_count, SimTime::never()),
      allocator_(context.spec.allocator, context.spec.memory_capacity),
      blocks_(program_.tensor_count) {
  assert(streams_.size() <= 64);
  assert(setup_.communicators.size() >= communicators_.size());
}

bool Rank::cpu_can_proceed() const {
  switch (cpu_state_) {
    case CpuState::running:
      return true;
    case CpuState::waiting_event:
      return event_times_[program_.ops[cursor_].index] != SimTime::never();
    case CpuState::waiting_idle:
    case CpuState::waiting_free:
      return idle();
    case CpuState::waiting_queue:
      return streams_[waiting_stream_].count < context_.spec.launch_queue_depth;
    case CpuState::waiting_pending:
      return internal_open_ == 0;
    case CpuState::waiting_time:
    case CpuState::finished:
    case CpuState::failed:
    case CpuState::dead:
      return false;
  }
  return false;
}

void Rank::block(CpuState state) {
  cpu_state_ = state;
  wait_from_ = cpu_time_;
}

/// Leaves a wait whose condition now holds.
void Rank::resume_cpu() {
  const CpuState waited = std::exchange(cpu_state_, CpuState::running);
  if (waited == CpuState::running) return;
  // A wait may end at a moment that the CPU, running ahead, has already passed.
  cpu_time_ = std::max(cpu_time_, context_.queue.now());
  if (waited == CpuState::waiting_free) {
    spend(free_cost_);
  } else if (waited != CpuState::waiting_event && waited != CpuState::waiting_idle) {
    return;
  }
  if (context_.probes.cpu_waited.has_listeners()) {
    context_.probes.cpu_waited(CpuWaitRecord{slot_, cursor_, wait_from_, cpu_time_});
  }
  ++cursor_;
}

void Rank::advance_cpu() {
  resume_cpu();
  for (;;) {
    while (cursor_ < program_.ops.size()) {
      if (!issue(program_.ops[cursor_])) return;
      ++cursor_;
    }
    if (!setup_.repeats_last_step) break;
    // A step ends with a device synchronisation; the CPU may have run ahead of the clock since.
    if (!begin_step_anew()) return;
  }
  cpu_state_ = CpuState::finished;
}

/// Goes back to the beginning of the last step; false if the clock must come up first.
bool Rank::begin_step_anew() {
  if (cpu_time_ > context_.queue.now()) {
    cpu_state_ = CpuState::waiting_time;
    context_.queue.schedule(cpu_time_, context_.receiver,
                            static_cast<std::uint32_t>(RankEvent::cpu_wake),
                            std::uint64_t{slot_} << 16);
    return false;
  }
  std::uint32_t begin = cursor_;
  while (begin > 0 && program_.ops[begin - 1].code != OpCode::step_begin) --begin;
  if (begin > 0) --begin;
  for (std::uint32_t op = begin; op < program_.ops.size(); ++op) {
    if (program_.ops[op].code != OpCode::record_event) continue;
    event_times_[program_.ops[op].index] = SimTime::never();
  }
  cursor_ = begin;
  return true;
}

/// The CPU thread works for this long, pauses not counted.
void Rank::spend(SimTime cpu_time) {
  cpu_time_ =
      setup_.pace == nullptr ? cpu_time_ + cpu_time : setup_.pace->after(cpu_time_, cpu_time);
}

/// Issues one operation; false if the CPU has to stop in front of it.
bool Rank::issue(const Op& op) {
  if (setup_.pace != nullptr) {
    spend(SimTime{});
    if (cpu_time_ == SimTime::never()) {
      cpu_state_ = CpuState::dead;
      return false;
    }
  }
  switch (op.code) {
    case OpCode::cpu_work:
      spend(program_.cpu_works[op.index].time);
      return true;
    case OpCode::kernel:
    case OpCode::collective:
      return issue_launch(op);
    case OpCode::record_event:
    case OpCode::stream_wait_event:
      push(op.stream, Issued{cursor_, 0, cpu_time_, cpu_time_});
      return true;
    case OpCode::cpu_wait_event:
      // Streams issued to in this burst have not been looked at yet: the event may be complete
      // at this very moment. The wait is settled after they have.
      if (event_times_[op.index] == SimTime::never()) {
        block(CpuState::waiting_event);
        return false;
      }
      if (context_.probes.cpu_waited.has_listeners()) {
        const SimTime until = std::max(cpu_time_, event_times_[op.index]);
        context_.probes.cpu_waited(CpuWaitRecord{slot_, cursor_, cpu_time_, until});
      }
      cpu_time_ = std::max(cpu_time_, event_times_[op.index]);
      return true;
    case OpCode::device_synchronize:
      if (!idle()) {
        block(CpuState::waiting_idle);
        return false;
      }
      return true;
    case OpCode::allocate:
      return setup_.tracks_memory ? allocate(op) : pass_over_allocation();
    case OpCode::free:
      if (setup_.tracks_memory) release(op);
      return true;
    case OpCode::record_stream:
      if (setup_.tracks_memory) allocator_.record_stream(blocks_[op.index], op.stream);
      return true;
    case OpCode::step_begin:
    case OpCode::step_end:
      context_.probes.step_boundary(
          StepRecord{slot_, op.index, op.code == OpCode::step_begin, cpu_time_});
      return true;
  }
  return true;
}

bool Rank::issue_launch(const Op& op) {
  if (streams_[op.stream].count >= context_.spec.launch_queue_depth) {
    waiting_stream_ = op.stream;
    block(CpuState::waiting_queue);
    return false;
  }
  Issued issued{cursor_, 0, cpu_time_, cpu_time_};
  if (op.code == OpCode::kernel) {
    const KernelSpec& kernel = program_.kernels[op.index];
    const SimTime begun = cpu_time_;
    spend(kernel.cpu_cost);
    const SimTime first = SimTime::picoseconds(kernel.cpu_cost.picoseconds() / launches_of(kernel));
    issued.first = setup_.pace == nullptr ? begun + first : setup_.pace->after(begun, first);
  } else {
    const CollectiveSpec& collective = program_.collectives[op.index];
    issued.ticket = communicators_[collective.communicator].issued++;
    spend(collective.cpu_cost);
    issued.first = cpu_time_;
  }
  issued.last = cpu_time_;
  push(op.stream, issued);
  return true;
}

bool Rank::allocate(const Op& op) {
  if (allocator_.has_pending()) {
    // Whether a block is back depends on the GPU's state at the CPU's time.
    if (cpu_time_ > context_.queue.now()) {
      cpu_state_ = CpuState::waiting_time;
      context_.queue.schedule(cpu_time_, context_.receiver,
                              static_cast<std::uint32_t>(RankEvent::cpu_wake),
                              std::uint64_t{slot_} << 16);
      return false;
    }
    collect_pending();
  }
  const AllocationSpec& spec = program_.allocations[op.name];
  const CachingAllocator::Result result = allocator_.allocate(spec.bytes, op.stream, spec.kind);
  publish_actions();
  switch (result.outcome) {
    case CachingAllocator::Outcome::allocated:
      blocks_[op.index] = result.block;
      publish_memory();
      return charge({cursor_, result.device_malloc ? 1 : 0, result.freed_segments});
    case CachingAllocator::Outcome::wait_for_pending:
      block(CpuState::waiting_pending);
      return false;
    case CachingAllocator::Outcome::out_of_memory:
      fail_out_of_memory(spec.bytes, op.stream);
      return false;
  }
  return true;
}

bool Rank::pass_over_allocation() {
  const std::vector<DeviceCalls>* calls = setup_.device_calls;
  if (calls == nullptr || next_device_call_ == calls->size()) return true;
  if ((*calls)[next_device_call_].op != cursor_) return true;
  return charge((*calls)[next_device_call_++]);
}

/// Pays for calls of the driver. A cudaFree first waits until the device is idle; false if that
/// takes time, and the operation is then over when the CPU goes on.
bool Rank::charge(const DeviceCalls& calls) {
  const SimTime cost =
      context_.spec.device_malloc * calls.mallocs + context_.spec.device_free * calls.frees;
  if (calls.frees > 0 && !idle()) {
    free_cost_ = cost;
    block(CpuState::waiting_free);
    return false;
  }
  spend(cost);
  return true;
}

void Rank::release(const Op& op) {
  for (const StreamId stream : allocator_.free(blocks_[op.index])) {
    std::uint32_t event = 0;
    if (free_internal_.empty()) {
      event = static_cast<std::uint32_t>(internal_times_.size());
      internal_times_.push_back(SimTime::never());
    } else {
      event = free_internal_.back();
      free_internal_.pop_back();
      internal_times_[event] = SimTime::never();
    }
    ++internal_open_;
    allocator_.add_pending_event(blocks_[op.index], stream, event);
    push(stream, Issued{event | internal_bit, 0, cpu_time_, cpu_time_});
  }
  publish_actions();
  publish_memory();
}

/// Gives blocks whose other streams are done with them back to the allocator.
void Rank::collect_pending() {
  allocator_.process_events([this](std::uint64_t event) {
    if (internal_times_[event] == SimTime::never()) return false;
    free_internal_.push_back(static_cast<std::uint32_t>(event));
    return true;
  });
}

void Rank::fail_out_of_memory(Bytes requested, StreamId stream) {
  cpu_state_ = CpuState::failed;
  if (context_.out_of_memory) return;
  context_.out_of_memory = OutOfMemory{
      slot_, cursor_, cpu_time_, allocator_.shortage(requested, stream), allocator_.statistics()};
  const MemoryShortage& shortage = context_.out_of_memory->shortage;
  const Bytes free = std::max(shortage.capacity - shortage.reserved, Bytes{});
  context_.probes.allocator_acted(AllocatorRecord{
      slot_,
      cursor_,
      cpu_time_,
      {AllocatorActionKind::oom, stream, static_cast<std::uint64_t>(free.count), requested}});
}

void Rank::publish_memory() {
  if (!context_.probes.memory_changed.has_listeners()) return;
  const AllocatorStatistics& now = allocator_.statistics();
  context_.probes.memory_changed(
      MemoryRecord{slot_, cursor_, cpu_time_, now.allocated, now.reserved});
}

void Rank::publish_actions() {
  for (const AllocatorAction& action : actions_) {
    context_.probes.allocator_acted(AllocatorRecord{slot_, cursor_, cpu_time_, action});
  }
  actions_.clear();
}

namespace {

/// "event 7 (AG0 on all_gather)": what must be over for the event to be complete.
std::string event_text(const Program& program, EventId event) {
  std::string text = "event " + std::to_string(event);
  std::size_t at = 0;
  while (at < program.ops.size() &&
         (program.ops[at].code != OpCode::record_event || program.ops[at].index != event)) {
    ++at;
  }
  if (at == program.ops.size()) return text;
  const StreamId stream = program.ops[at].stream;
  while (at-- > 0) {
    const Op& op = program.ops[at];
    if (op.stream != stream || (op.code != OpCode::kernel && op.code != OpCode::collective)) {
      continue;
    }
    return text + " (" + program.names[op.name] + " on " + program.streams[stream].name + ")";
  }
  return text;
}

}  // namespace

std::string Rank::collective_on(CommunicatorId communicator) const {
  for (const Stream& stream : streams_) {
    if (!stream.running || !stream.running_collective) continue;
    const Op& op = program_.ops[stream.current.op];
    if (program_.collectives[op.index].communicator == communicator) {
      return program_.names[op.name];
    }
  }
  return {};
}

std::string Rank::describe_wait() const {
  const auto name_of = [this](std::uint32_t op) -> std::string {
    if ((op & internal_bit) != 0) return "an allocator event";
    const Op& entry = program_.ops[op];
    switch (entry.code) {
      case OpCode::kernel:
      case OpCode::collective:
        return program_.names[entry.name];
      case OpCode::stream_wait_event:
        return event_text(program_, entry.index);
      default:
        return "operation " + std::to_string(op);
    }
  };
  std::string text = setup_.job.empty() ? "" : setup_.job + ", ";
  text += "rank " + std::to_string(setup_.rank) + ": ";
  if (setup_.pace != nullptr && setup_.pace->dies() <= context_.queue.now()) {
    text += "died at " + simcore::to_text(setup_.pace->dies());
  } else if (cpu_state_ == CpuState::waiting_event) {
    text += "the CPU waits for " + event_text(program_, program_.ops[cursor_].index);
  } else if (cpu_state_ == CpuState::waiting_idle || cpu_state_ == CpuState::waiting_free) {
    text += "the CPU waits for the device";
  } else {
    text += "the CPU is at operation " + std::to_string(cursor_);
  }
  for (std::size_t index = 0; index < streams_.size(); ++index) {
    const Stream& stream = streams_[index];
    const std::string& stream_name = program_.streams[index].name;
    if (stream.running) {
      text += "; " + stream_name + " is in " + name_of(stream.current.op);
      if (!stream.running_collective) continue;
      const auto& spec = program_.collectives[program_.ops[stream.current.op].index];
      text += " on communicator " + program_.communicators[spec.communicator] +
              (communicators_[spec.communicator].moving ? ", where all its peers are"
                                                        : ", waiting for its peers");
    } else if (stream.count > 0) {
      const std::uint32_t front = stream.ring[stream.head].op;
      const bool waits =
          (front & internal_bit) == 0 && program_.ops[front].code == OpCode::stream_wait_event;
      text += "; " + stream_name + (waits ? " waits for " : " waits before ") + name_of(front);
      if (stream.blocked_communicator != UINT32_MAX) {
        text +=
            " for its turn on communicator " + program_.communicators[stream.blocked_communicator];
      }
    }
  }
  return text;
}

}  // namespace shardsim::cuda

#include "models/cuda/lockstep_plan.hpp"

#include <algorithm>
#include <utility>

#include "models/cuda/kernel_progress.hpp"

namespace shardsim::cuda {

using simcore::SimTime;

namespace {

constexpr std::uint32_t none = UINT32_MAX;

class Planner {
 public:
  Planner(const Program& program, const RuntimeSpec& spec, const std::vector<DeviceCalls>* calls)
      : program_(program), spec_(spec), calls_(calls), streams_(program.streams.size()) {}

  std::optional<LockstepPlan> plan() {
    if (!survey()) return std::nullopt;
    for (next_collective_ = 0; next_collective_ < plan_.collectives.size(); ++next_collective_) {
      const Place& place = place_of_[plan_.collectives[next_collective_]];
      if (!pop_to(place.stream, place.entry)) return std::nullopt;
      plan_.segment_ends.push_back(plan_.steps.size());
    }
    if (!issue_to(static_cast<std::uint32_t>(program_.ops.size()))) return std::nullopt;
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
      if (!streams_[stream].entries.empty() &&
          !end_to(static_cast<StreamId>(stream),
                  static_cast<std::uint32_t>(streams_[stream].entries.size() - 1))) {
        return std::nullopt;
      }
    }
    plan_.segment_ends.push_back(plan_.steps.size());
    return std::move(plan_);
  }

 private:
  /// An operation in a stream's queue.
  struct Entry {
    std::uint32_t op = 0;
    std::uint32_t issued = none;  ///< register
    std::uint32_t left = none;    ///< register: when it left the queue
    std::uint32_t collective = none;
  };
  struct Stream {
    std::vector<Entry> entries;
    std::uint32_t popped = 0;  ///< entries that have left the queue
    std::uint32_t ended = 0;
  };
  struct Place {
    StreamId stream = 0;
    std::uint32_t entry = 0;
  };
  struct Event {
    Place recorded{};
    std::uint32_t uses = 0;
    std::uint32_t value = none;  ///< register
  };

  bool survey() {
    place_of_.resize(program_.ops.size());
    events_.resize(program_.event_count);
    std::optional<CommunicatorId> communicator;
    for (std::uint32_t i = 0; i < program_.ops.size(); ++i) {
      const Op& op = program_.ops[i];
      if (op.code == OpCode::record_stream) return false;
      if (op.code == OpCode::cpu_wait_event) ++events_[op.index].uses;
      const bool in_stream = op.code == OpCode::kernel || op.code == OpCode::collective ||
                             op.code == OpCode::record_event ||
                             op.code == OpCode::stream_wait_event;
      if (!in_stream) continue;
      auto& entries = streams_[op.stream].entries;
      place_of_[i] = {op.stream, static_cast<std::uint32_t>(entries.size())};
      Entry entry{i, none, none, none};
      if (op.code == OpCode::record_event) events_[op.index].recorded = place_of_[i];
      if (op.code == OpCode::stream_wait_event) ++events_[op.index].uses;
      if (op.code == OpCode::collective) {
        const CommunicatorId id = program_.collectives[op.index].communicator;
        if (communicator.value_or(id) != id) return false;
        communicator = id;
        entry.collective = static_cast<std::uint32_t>(plan_.collectives.size());
        plan_.collectives.push_back(i);
      }
      entries.push_back(entry);
    }
    if (calls_ == nullptr) return true;
    return std::ranges::none_of(*calls_, [](const DeviceCalls& one) { return one.frees > 0; });
  }

  std::uint32_t take_register() {
    if (free_.empty()) return plan_.registers++;
    const std::uint32_t taken = free_.back();
    free_.pop_back();
    return taken;
  }
  void emit(const LockstepStep& step) { plan_.steps.push_back(step); }

  bool is_launch(const Entry& entry) const {
    const OpCode code = program_.ops[entry.op].code;
    return code == OpCode::kernel || code == OpCode::collective;
  }

  /// The CPU issues all operations before `end`.
  bool issue_to(std::uint32_t end) {
    while (cpu_ < end) {
      if (!issue(cpu_)) return false;
      ++cpu_;
    }
    return true;
  }

  void work(SimTime time) {
    if (time == SimTime{}) return;
    if (!plan_.steps.empty() && plan_.steps.back().code == LockstepCode::cpu_work &&
        (plan_.segment_ends.empty() || plan_.segment_ends.back() != plan_.steps.size())) {
      plan_.steps.back().time += time;
      return;
    }
    emit({.code = LockstepCode::cpu_work, .time = time});
  }

  bool issue(std::uint32_t i) {
    const Op& op = program_.ops[i];
    switch (op.code) {
      case OpCode::cpu_work:
        work(program_.cpu_works[op.index].time);
        return true;
      case OpCode::allocate:
        if (calls_ != nullptr && next_call_ < calls_->size() && (*calls_)[next_call_].op == i) {
          work(spec_.device_malloc * (*calls_)[next_call_++].mallocs);
        }
        return true;
      case OpCode::free:
      case OpCode::record_stream:
        return true;
      case OpCode::step_begin:
        emit({.code = LockstepCode::step_begin, .index = op.index});
        return true;
      case OpCode::step_end:
        emit({.code = LockstepCode::step_end, .index = op.index});
        return true;
      case OpCode::cpu_wait_event: {
        const Place at = events_[op.index].recorded;
        if (!end_to(at.stream, at.entry)) return false;
        emit({.code = LockstepCode::cpu_wait, .a = events_[op.index].value});
        use(op.index);
        return true;
      }
      case OpCode::device_synchronize:
        return wait_idle(i);
      case OpCode::kernel:
        if (!wait_for_room(i)) return false;
        work(program_.kernels[op.index].cpu_cost);
        break;
      case OpCode::collective:
        if (!wait_for_room(i)) return false;
        work(program_.collectives[op.index].cpu_cost);
        break;
      case OpCode::record_event:
      case OpCode::stream_wait_event:
        break;
    }
    Entry& entry = streams_[op.stream].entries[place_of_[i].entry];
    entry.issued = take_register();
    emit({.code = LockstepCode::issue, .a = entry.issued});
    return true;
  }

  bool wait_idle(std::uint32_t i) {
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
      const auto& entries = streams_[stream].entries;
      const auto later = std::ranges::lower_bound(entries, i, {}, &Entry::op) - entries.begin();
      if (later > 0 &&
          !end_to(static_cast<StreamId>(stream), static_cast<std::uint32_t>(later - 1)))
        return false;
    }
    emit({.code = LockstepCode::cpu_wait_idle});
    return true;
  }

  /// A launch waits until the stream holds fewer operations than its queue takes.
  bool wait_for_room(std::uint32_t i) {
    const Place place = place_of_[i];
    if (place.entry < spec_.launch_queue_depth) return true;
    const std::uint32_t before = place.entry - spec_.launch_queue_depth;
    if (!pop_to(place.stream, before)) return false;
    Entry& entry = streams_[place.stream].entries[before];
    emit({.code = LockstepCode::cpu_wait, .a = entry.left});
    free_.push_back(std::exchange(entry.left, none));
    return true;
  }

  void use(std::uint32_t event) {
    if (--events_[event].uses == 0) free_.push_back(events_[event].value);
  }

  /// The entry and all before it have left the queue.
  bool pop_to(StreamId stream, std::uint32_t entry) {
    if (entry > 0 && !end_to(stream, entry - 1)) return false;
    while (streams_[stream].popped <= entry) {
      if (!pop(stream)) return false;
    }
    return true;
  }

  /// The entry and all before it have ended.
  bool end_to(StreamId stream, std::uint32_t entry) {
    while (streams_[stream].ended <= entry) {
      Stream& one = streams_[stream];
      if (one.popped == one.ended) {
        if (!pop(stream)) return false;
      } else if (!end(stream)) {
        return false;
      }
    }
    return true;
  }

  bool pop(StreamId stream) {
    const std::uint32_t number = streams_[stream].popped;
    const std::uint32_t op_index = streams_[stream].entries[number].op;
    if (++depth_ > most_depth) return false;
    if (!issue_to(op_index + 1)) return false;
    const Op& op = program_.ops[op_index];
    if (op.code == OpCode::stream_wait_event) {
      const Place at = events_[op.index].recorded;
      if (!end_to(at.stream, at.entry)) return false;
    }
    --depth_;
    Stream& one = streams_[stream];
    if (one.popped != number) return true;  // done on the way
    Entry& entry = one.entries[number];
    LockstepStep step{.code = LockstepCode::start,
                      .stream = stream,
                      .a = entry.issued,
                      .time = spec_.launch_latency};
    const std::size_t waiter = std::size_t{number} + spec_.launch_queue_depth;
    if (waiter < one.entries.size() && is_launch(one.entries[waiter])) {
      step.b = entry.left = take_register();
    }
    if (op.code == OpCode::stream_wait_event) {
      step.code = LockstepCode::start_after;
      step.c = events_[op.index].value;
    } else if (op.code == OpCode::collective) {
      if (entry.collective != next_collective_) return false;
      step.code = LockstepCode::collective;
      step.index = entry.collective;
    } else if (op.code == OpCode::kernel) {
      // The first of several launches comes before the last.
      const KernelSpec& kernel = program_.kernels[op.index];
      const SimTime first =
          SimTime::picoseconds(kernel.cpu_cost.picoseconds() / launches_of(kernel));
      step.time -= kernel.cpu_cost - first;
    }
    emit(step);
    ++one.popped;
    if (op.code == OpCode::stream_wait_event) use(op.index);
    if (op.code == OpCode::record_event && events_[op.index].uses > 0) {
      events_[op.index].value = take_register();
      emit({.code = LockstepCode::start,
            .stream = stream,
            .a = entry.issued,
            .b = events_[op.index].value,
            .time = spec_.launch_latency});
    }
    if (op.code == OpCode::record_event || op.code == OpCode::stream_wait_event) ++one.ended;
    if (op.code != OpCode::kernel) free_.push_back(entry.issued);
    return true;
  }

  bool end(StreamId stream) {
    Stream& one = streams_[stream];
    const Entry& entry = one.entries[one.ended];
    const Op& op = program_.ops[entry.op];
    if (op.code == OpCode::collective) {
      if (entry.collective >= next_collective_) return false;
      emit({.code = LockstepCode::collective_end, .stream = stream, .index = entry.collective});
    } else {
      const KernelSpec& kernel = program_.kernels[op.index];
      const SimTime first =
          SimTime::picoseconds(kernel.cpu_cost.picoseconds() / launches_of(kernel));
      const bool several = first < kernel.cpu_cost;
      emit({.code = LockstepCode::kernel,
            .stream = stream,
            .index = entry.op,
            .a = several ? entry.issued : none,
            .time = spec_.launch_latency});
      free_.push_back(entry.issued);
    }
    ++one.ended;
    return true;
  }

  // Streams that wait for each other are followed by recursion.
  static constexpr int most_depth = 2000;

  const Program& program_;
  const RuntimeSpec& spec_;
  const std::vector<DeviceCalls>* calls_;
  std::vector<Stream> streams_;
  std::vector<Place> place_of_;  ///< by operation
  std::vector<Event> events_;
  std::vector<std::uint32_t> free_;
  std::uint32_t cpu_ = 0;  ///< next operation to issue
  std::size_t next_call_ = 0;
  std::uint32_t next_collective_ = 0;
  int depth_ = 0;
  LockstepPlan plan_;
};

}  // namespace

std::optional<LockstepPlan> plan_lockstep(const Program& program, const RuntimeSpec& spec,
                                          const std::vector<DeviceCalls>* calls) {
  return Planner(program, spec, calls).plan();
}

}  // namespace shardsim::cuda

#include "models/scenario/memory_timeline.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace shardsim::scenario {

using cuda::OpCode;
using simcore::Bytes;
using simcore::SimTime;

namespace {

/// Follows a program's allocations: what each tensor is for.
class KindTracker {
 public:
  explicit KindTracker(const cuda::Program& program)
      : program_(program), tensors_(program.tensor_count) {}

  /// What the allocation or free at `op` is of; `op` must not decrease from call to call.
  cuda::MemoryKind kind_at(std::uint32_t op) {
    for (; next_ <= op; ++next_) {
      const cuda::Op& entry = program_.ops[next_];
      if (entry.code != OpCode::allocate) continue;
      tensors_[entry.index] = program_.allocations[entry.name].kind;
    }
    return tensors_[program_.ops[op].index];
  }

 private:
  const cuda::Program& program_;
  std::vector<cuda::MemoryKind> tensors_;  ///< by tensor: what it was allocated for last
  std::uint32_t next_ = 0;
};

/// When the GPU started the first operation of the compute stream from each op on.
class DeviceClock {
 public:
  explicit DeviceClock(const StepLog* step) : step_(step) {}

  /// `op` must not decrease from call to call.
  SimTime at(std::uint32_t op, SimTime otherwise) {
    if (step_ == nullptr) return otherwise;
    next_ = std::max({next_, op, step_->first_op});
    while (next_ <= step_->last_op && !is_compute(next_)) ++next_;
    const SimTime time = next_ <= step_->last_op ? step_->record(next_).start : step_->end;
    return std::max(time - step_->begin, SimTime{});
  }

 private:
  bool is_compute(std::uint32_t op) const {
    return step_->program->ops[op].stream == 0 && step_->ran(op);
  }

  const StepLog* step_;
  std::uint32_t next_ = 0;
};

MemoryPeak describe_peak(const MemoryLog& log, std::uint32_t op) {
  const cuda::Program& program = *log.program;
  const cuda::AllocationSpec& wanted = program.allocations[program.ops[op].name];
  MemoryPeak peak;
  peak.step = step_of(program, op);
  peak.allocated = log.peak;
  peak.allocation = program.names[wanted.name];
  peak.kind = wanted.kind;
  peak.operation = operation_after(program, op);
  peak.unit = unit_in_name(peak.operation);
  return peak;
}

/// The first of the points from `from` to `to` that no other is above, by `value`.
template <class Value>
std::size_t highest(const std::vector<MemoryPoint>& points, std::size_t from, std::size_t to,
                    Value value) {
  std::size_t best = from;
  for (std::size_t i = from + 1; i < to; ++i) {
    if (value(points[i]) > value(points[best])) best = i;
  }
  return best;
}

}  // namespace

std::uint32_t step_of(const cuda::Program& program, std::uint32_t op) {
  std::uint32_t step = 0;
  for (std::uint32_t at = 0; at < op; ++at) {
    if (program.ops[at].code == OpCode::step_end) ++step;
  }
  return step;
}

std::string operation_after(const cuda::Program& program, std::uint32_t op) {
  for (; op < program.ops.size(); ++op) {
    const OpCode code = program.ops[op].code;
    if (code == OpCode::step_begin || code == OpCode::step_end) break;
    if (code == OpCode::kernel || code == OpCode::collective) {
      return program.names[program.ops[op].name];
    }
  }
  return {};
}

std::string unit_in_name(const std::string& operation) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  const auto all_digits = [&](std::string_view text) {
    return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
  };
  for (std::size_t from = 0; from < operation.size();) {
    const std::size_t dot = std::min(operation.find('.', from), operation.size());
    const std::string part = operation.substr(from, dot - from);
    if (from > 0 && all_digits(part)) return part;
    if (from == 0 && dot < operation.size() && part == "root") return "R";
    from = dot + 1;
  }
  if (operation.size() < 2 || operation.find('.') != std::string::npos) return {};
  std::size_t digits = operation.size();
  while (digits > 0 && is_digit(operation[digits - 1])) --digits;
  if (digits > 0 && digits < operation.size()) return operation.substr(digits);
  return operation.back() == 'R' ? "R" : "";
}

MemoryTimeline make_memory_timeline(const MemoryLog& log, const StepLog* step) {
  MemoryTimeline timeline;
  if (log.peak.count == 0) return timeline;
  KindTracker kinds(*log.program);
  DeviceClock device(step);
  MemoryPoint now;
  now.by_kind = log.allocated_at_begin;
  for (const Bytes bytes : now.by_kind) now.allocated += bytes;
  now.reserved = log.reserved_at_begin;
  timeline.points.reserve(log.changes.size() + 1);
  timeline.points.push_back(now);
  for (const MemoryChange& change : log.changes) {
    now.by_kind[static_cast<std::size_t>(kinds.kind_at(change.op))] +=
        change.allocated - now.allocated;
    now.allocated = change.allocated;
    now.reserved = change.reserved;
    now.time = change.time - log.begin;
    now.device_time = device.at(change.op, now.time);
    if (!timeline.peak && now.allocated == log.peak) {
      timeline.peak = describe_peak(log, change.op);
      timeline.peak->time = now.time;
      timeline.peak->device_time = now.device_time;
    }
    timeline.points.push_back(now);
  }
  if (!timeline.peak) timeline.peak = describe_peak(log, log.peak_op);
  return timeline;
}

std::vector<MemoryPoint> thin_out(const std::vector<MemoryPoint>& points, std::size_t most) {
  if (points.size() <= most) return points;
  const auto allocated = [](const MemoryPoint& point) { return point.allocated.count; };
  const auto freed = [](const MemoryPoint& point) { return -point.allocated.count; };
  const auto reserved = [](const MemoryPoint& point) { return point.reserved.count; };
  // Two of each group, and four by themselves; some coincide.
  const std::size_t groups = (most - 4) / 2;
  std::vector<std::size_t> kept{0, points.size() - 1, highest(points, 0, points.size(), allocated),
                                highest(points, 0, points.size(), reserved)};
  for (std::size_t group = 0; group < groups; ++group) {
    const std::size_t from = points.size() * group / groups;
    const std::size_t to = points.size() * (group + 1) / groups;
    kept.push_back(highest(points, from, to, allocated));
    kept.push_back(highest(points, from, to, freed));
  }
  std::sort(kept.begin(), kept.end());
  kept.erase(std::unique(kept.begin(), kept.end()), kept.end());
  std::vector<MemoryPoint> thin;
  thin.reserve(kept.size());
  for (const std::size_t index : kept) thin.push_back(points[index]);
  return thin;
}

std::vector<Bytes> memory_over_step(const std::vector<MemoryPoint>& points, SimTime step,
                                    int columns) {
  std::vector<Bytes> most(static_cast<std::size_t>(columns));
  if (points.empty() || step <= SimTime{}) return most;
  const auto column_of = [&](SimTime time) {
    const double share = time.seconds() / step.seconds() * columns;
    return std::clamp(static_cast<int>(share), 0, columns - 1);
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const int from = column_of(points[i].device_time);
    const int to = i + 1 < points.size() ? column_of(points[i + 1].device_time) : columns - 1;
    for (int column = from; column <= to; ++column) {
      auto& highest_here = most[static_cast<std::size_t>(column)];
      highest_here = std::max(highest_here, points[i].allocated);
    }
  }
  return most;
}

}  // namespace shardsim::scenario

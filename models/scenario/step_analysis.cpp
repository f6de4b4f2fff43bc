#include "models/scenario/step_analysis.hpp"

#include <algorithm>
#include <string>

#include "models/cuda/program_recorder.hpp"

namespace shardsim::scenario {

using cuda::CollectiveKind;
using cuda::KernelCategory;
using cuda::OpCode;
using simcore::SimTime;

const char* category_name(KernelCategory category) {
  switch (category) {
    case KernelCategory::gemm:
      return "matrix products";
    case KernelCategory::attention:
      return "attention";
    case KernelCategory::elementwise:
      return "elementwise kernels";
    case KernelCategory::normalization:
      return "normalisation";
    case KernelCategory::embedding:
      return "embedding";
    case KernelCategory::loss:
      return "loss";
    case KernelCategory::optimizer:
      return "optimizer";
    case KernelCategory::copy:
      return "sharding copies";
    case KernelCategory::compute:
      return "compute";
  }
  return "compute";
}

double bus_factor(CollectiveKind kind, int ranks) {
  const double n = ranks;
  switch (kind) {
    case CollectiveKind::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
    case CollectiveKind::alltoall:
      return (n - 1) / n;
    default:
      return 1;
  }
}

namespace {

class Analyst {
 public:
  Analyst(const StepLog& log, const std::vector<SimTime>& kernel_times)
      : log_(log), kernel_times_(kernel_times), dependencies_(log) {}

  StepAnalysis run() {
    result_.step.time = log_.end - log_.begin;
    sum_collectives();
    follow_compute_stream();
    rank_parts();
    const double moved = result_.step.communication.seconds();
    if (moved > 0) {
      const double hidden = 1 - exposed_transfer_.seconds() / moved;
      result_.step.overlap_fraction = std::clamp(hidden, 0.0, 1.0);
    }
    return std::move(result_);
  }

 private:
  const cuda::CollectiveSpec& collective(std::uint32_t op) const {
    return log_.program->collectives[log_.program->ops[op].index];
  }
  const cuda::KernelSpec& kernel(std::uint32_t op) const {
    return log_.program->kernels[log_.program->ops[op].index];
  }
  CollectiveTotals& totals(std::uint32_t op) {
    const cuda::CollectiveSpec& spec = collective(op);
    return result_.collectives[{spec.communicator, spec.kind}];
  }

  void sum_collectives() {
    std::vector<std::pair<SimTime, SimTime>> intervals;
    for (std::uint32_t op = log_.first_op; op <= log_.last_op; ++op) {
      if (log_.program->ops[op].code != OpCode::collective || !log_.ran(op)) continue;
      const SimTime from = dependencies_.transfer_start(op);
      const SimTime to = log_.record(op).end;
      intervals.emplace_back(from, to);
      CollectiveTotals& sum = totals(op);
      ++sum.count;
      sum.bytes += collective(op).bytes;
      sum.time += to - from;
    }
    std::sort(intervals.begin(), intervals.end());
    SimTime covered = log_.begin;
    for (const auto& [from, to] : intervals) {
      const SimTime start = std::max(from, covered);
      if (to > start) result_.step.communication += to - start;
      covered = std::max(covered, to);
    }
  }

  /// Books a stretch in which the compute stream is idle.
  void book_gap(const Cause& cause) {
    const SimTime length = cause.to - cause.from;
    parts_[describe(cause)] += length;
    switch (cause.kind) {
      case CauseKind::collective:
        totals(cause.op).exposed += length;
        exposed_transfer_ += length;
        result_.step.exposed_communication += length;
        break;
      case CauseKind::peers:
      case CauseKind::kernel:
        result_.step.exposed_communication += length;
        break;
      case CauseKind::cpu:
      case CauseKind::optimizer:
      case CauseKind::launch:
        result_.step.cpu_bound += length;
        break;
    }
  }

  void follow_compute_stream() {
    SimTime covered = log_.begin;
    const auto book = [this](const Cause& cause) { book_gap(cause); };
    for (const std::uint32_t op :
         dependencies_.stream_operations(cuda::ProgramRecorder::compute_stream)) {
      const cuda::OpRecord& record = log_.record(op);
      if (record.start > covered) dependencies_.explain_start(op, covered, book);
      covered = std::max(covered, record.end);
      if (log_.program->ops[op].code == OpCode::collective) {
        book_gap(Cause{CauseKind::collective, op, record.start, record.end});
      } else {
        book_kernel(op, record);
      }
    }
    if (log_.end > covered) dependencies_.explain_end(covered, book);
  }

  void book_kernel(std::uint32_t op, const cuda::OpRecord& record) {
    const SimTime computing = record.end - record.start - record.launch_bound;
    const SimTime alone = std::min(computing, kernel_times_[log_.program->ops[op].index]);
    result_.step.compute += computing;
    result_.step.interference += computing - alone;
    result_.step.cpu_bound += record.launch_bound;
    parts_[describe(Cause{CauseKind::kernel, op, {}, {}})] += alone;
    parts_["kernels slowed by collectives beside them"] += computing - alone;
    parts_[describe(Cause{CauseKind::cpu, op, {}, {}})] += record.launch_bound;
  }

  std::string describe(const Cause& cause) const {
    switch (cause.kind) {
      case CauseKind::collective: {
        const cuda::CollectiveSpec& spec = collective(cause.op);
        return std::string(collective_name(spec.kind)) + " (" +
               log_.program->communicators[spec.communicator] + ")";
      }
      case CauseKind::peers:
        return "waiting for the slowest rank";
      case CauseKind::kernel: {
        const cuda::KernelSpec& spec = kernel(cause.op);
        return std::string(category_name(spec.category)) + (spec.recompute ? " (recomputed)" : "");
      }
      case CauseKind::cpu:
        return "CPU issuing work";
      case CauseKind::optimizer:
        return "optimizer on the CPU";
      case CauseKind::launch:
        return "launch latency";
    }
    return "";
  }

  void rank_parts() {
    const double whole = std::max(1e-12, result_.step.time.seconds());
    for (const auto& [what, time] : parts_) {
      if (time == SimTime{}) continue;
      result_.critical_path.push_back(PathShare{what, time, time.seconds() / whole});
    }
    std::stable_sort(result_.critical_path.begin(), result_.critical_path.end(),
                     [](const PathShare& a, const PathShare& b) { return a.time > b.time; });
  }

  const StepLog& log_;
  const std::vector<SimTime>& kernel_times_;
  const Dependencies dependencies_;
  std::map<std::string, SimTime> parts_;
  SimTime exposed_transfer_;  ///< exposed while data move; not waiting for peers, nor copies
  StepAnalysis result_;
};

}  // namespace

StepAnalysis analyse(const StepLog& log, const std::vector<SimTime>& kernel_times) {
  return Analyst(log, kernel_times).run();
}

}  // namespace shardsim::scenario

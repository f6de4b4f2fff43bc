// From the log of a step to its figures: what was computed, what communication was exposed, and
// where the step's time went.
//
// Exposed communication is time in which the compute stream is idle because, of everything it
// needs, a collective (or a copy that serves one, or a slower peer) ends last. Idle time in which
// the CPU's launch comes last is `cpu_bound`. The parts of `critical_path` follow the compute
// stream: its kernels at the time they take alone, what collectives beside them add, and each gap
// under the name of what ended last. They add up to the step, and agree with the figures above.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/cuda/collective_name.hpp"
#include "models/scenario/dependencies.hpp"
#include "models/scenario/result.hpp"
#include "models/scenario/step_log.hpp"

namespace shardsim::scenario {

struct CollectiveTotals {
  std::int64_t count = 0;
  simcore::Bytes bytes;
  simcore::SimTime time;  ///< data moving
  simcore::SimTime exposed;
};

/// Collectives of one kind on one communicator.
using CollectiveKey = std::pair<cuda::CommunicatorId, cuda::CollectiveKind>;

struct StepAnalysis {
  StepResult step;
  std::vector<PathShare> critical_path;  ///< largest first; shares of the step's time
  std::map<CollectiveKey, CollectiveTotals> collectives;
};

/// `kernel_times` is what each kernel of the log's program takes alone on this rank.
StepAnalysis analyse(const StepLog& log, const std::vector<simcore::SimTime>& kernel_times);

/// Group of operations that a kernel belongs to on the critical path, e.g. "matrix products".
const char* category_name(cuda::KernelCategory category);
/// busbw / algbw for `ranks` ranks, by nccl-tests' definition (a ring's traffic).
double bus_factor(cuda::CollectiveKind kind, int ranks);

}  // namespace shardsim::scenario

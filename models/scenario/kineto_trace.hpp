// A step as PyTorch's profiler would have traced it: for ui.perfetto.dev and Holistic Trace
// Analysis.
#pragma once

#include <iosfwd>
#include <vector>

#include "models/scenario/experiment.hpp"
#include "models/scenario/step_log.hpp"

namespace shardsim::scenario {

/// Writes the trace of `rank`, from its own log or that of the simulated rank that stands for it.
/// CPU: `ProfilerStep#k` and launches with correlation ids; GPU: kernels by stream, collectives
/// under NCCL's kernel names with their arguments; arrows from launch to kernel.
void write_kineto_trace(std::ostream& out, const Experiment& experiment,
                        const std::vector<StepLog>& logs, int rank);

}  // namespace shardsim::scenario

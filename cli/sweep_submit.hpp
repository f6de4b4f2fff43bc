// A sweep as a job array of Slurm, with a job that merges its parts.
#pragma once

#include <expected>
#include <string>

#include "cli/sweep_arguments.hpp"
#include "cli/sweep_session.hpp"

namespace shardsim::cli {

/// How many tasks `points` points make if one takes `seconds_per_point` on one core and a task,
/// with `threads` cores, is to take `task_minutes`: 1..min(points, most).
std::int64_t tasks_for(std::int64_t points, double seconds_per_point, int threads,
                       double task_minutes);

/// Writes the scripts beside the output, in FILE.slurm/, and submits them with `sbatch` unless the
/// arguments say otherwise. What was done is said on standard output. The error is a message.
std::expected<void, std::string> submit_to_slurm(const SweepArguments& arguments,
                                                 const SweepSession& session, int threads);

}  // namespace shardsim::cli

// The `--timeline` document: every kernel and collective of the measured step, in issue order.
#pragma once

#include <iosfwd>
#include <vector>

#include "models/scenario/step_log.hpp"

namespace shardsim::scenario {

/// Writes a JSON array of {rank, stream, communicator, name, cpu_issue_s, start_s, end_s}; time 0
/// is the start of the rank's step, `communicator` is null for kernels.
void write_timeline(std::ostream& out, const std::vector<StepLog>& logs);

/// Shares of `columns` equal stretches of the step in which each stream was busy.
std::vector<std::vector<double>> stream_occupancy(const StepLog& log, int columns);

}  // namespace shardsim::scenario

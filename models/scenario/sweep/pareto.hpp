// The best point of a sweep, and the points that nothing beats: the Pareto front of speed, memory
// and GPUs.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "models/scenario/sweep/metric.hpp"
#include "models/scenario/sweep/sweep_row.hpp"

namespace shardsim::scenario {

/// Whether the point ended well and all constraints hold.
bool satisfies(const SweepRow& row, std::span<const Constraint> constraints);

/// Position of the row that is best in the metric among those that satisfy the constraints; of
/// equals the first. Nothing if there is none.
std::optional<std::size_t> best_row(std::span<const SweepRow> rows, MetricId metric,
                                    std::span<const Constraint> constraints);

/// Positions of the rows that satisfy the constraints and than which no other is at least as good
/// in speed (tokens per second, or the step's time where no tokens are counted), peak reserved
/// memory and number of GPUs, and better in one of them. Fastest first; of equals the first alone.
std::vector<std::size_t> pareto_front(std::span<const SweepRow> rows,
                                      std::span<const Constraint> constraints);

}  // namespace shardsim::scenario

// What is left of a point's line for tables, curves and choices: small, so that many can be held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/scenario/sweep/metric.hpp"
#include "models/scenario/sweep/sweep_plan.hpp"

namespace shardsim::scenario {

struct SweepRow {
  std::int64_t index = 0;
  std::int64_t of = 0;
  std::string hash;      ///< of the sweep
  std::string scenario;  ///< its name
  std::string version;
  std::string gpu;
  std::vector<PointValue> values;
  std::string failed;  ///< kind of failure; empty: none
  std::string message;
  /// Whether published runs are comparable with it, and which runs its interval comes from.
  bool comparable = false;
  std::string comparable_what;                          ///< empty without an interval
  std::optional<std::pair<double, double>> interval_s;  ///< 90 % of such steps are in it
  MetricValues figures;

  std::optional<double> figure(MetricId metric) const { return figures[metric]; }
};

/// Longer lines are no points: one with `--exact-ranks` and published figures has some kilobytes.
inline constexpr std::size_t max_row_bytes = std::size_t{16} << 20;

/// Nothing if the text is no complete line of `shardsim.sweep/1`, or too large for one
/// (simcore/json_limits.hpp).
std::optional<SweepRow> read_row(std::string_view line);

/// A table as CSV: the header for sweeps over these keys, and a row of it. Both end in a newline.
std::string csv_header(const std::vector<std::string>& keys);
std::string csv_row(const SweepRow& row);

}  // namespace shardsim::scenario

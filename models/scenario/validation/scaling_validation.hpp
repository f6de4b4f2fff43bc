// Weak scaling: how throughput per GPU falls as GPUs are added with the same work for each.
//
// A table of curves: rows that agree in every column but the number of GPUs, what was measured and
// `row_id` are one curve; its efficiency is throughput per GPU over that of its smallest number of
// GPUs. The forecast of a row is the run of the same `row_id` in the table of training runs: as
// work per GPU is the same, its efficiency is the smallest run's step time over its own. Errors are
// in points, predicted less measured, as a fall from 98 % to 96 % matters and 2 % of it does not.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/validation/csv_table.hpp"
#include "models/scenario/validation/validation_report.hpp"

namespace shardsim::scenario {

struct ScalingRow {
  std::string id;
  std::string curve;  ///< "source, framework, model, GPU"
  std::string source;
  std::int64_t gpus = 0;
  std::int64_t smallest_gpus = 0;   ///< of the curve
  double measured = 1;              ///< efficiency, 0..1 and a little more
  std::optional<double> predicted;  ///< nothing where one of the two runs has no forecast
  std::string why_not;              ///< empty where there is one
  bool is_smallest() const { return gpus == smallest_gpus; }
};

struct ScalingScore {
  std::string group;
  std::size_t rows = 0;
  double median_abs_points = 0;
  double p90_abs_points = 0;
  double bias_points = 0;
};

struct ScalingReport {
  std::vector<ScalingRow> rows;  ///< in the table's order
  /// All rows, then those of each source; the smallest run of a curve counts nowhere.
  std::vector<ScalingScore> summary;
};

/// Nothing if `diagnostics` received an error: columns that are missing or cells that are no
/// numbers.
std::optional<ScalingReport> validate_scaling(std::shared_ptr<const simcore::SourceText> table,
                                              const ValidationReport& training,
                                              simcore::Diagnostics& diagnostics);

std::string to_text(const ScalingReport& report);

}  // namespace shardsim::scenario

// What the forecasts of published runs came to: one residual a run, a data file of the project
// (`validation/residuals.csv`), written by `shardsim validate --training`.
//
// A residual is measured over predicted: a forecast times a residual is what the run would have
// measured. Two for each run: of the forecast as it is made, and of one without calibration on
// training runs, which is all that an unseen GPU has.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/accuracy/run_facts.hpp"
#include "models/scenario/validation/csv_table.hpp"

namespace shardsim::scenario {

struct Residual {
  std::string row_id;
  std::string source;
  std::string url;  ///< empty if the table of runs has none
  std::string model;
  RunFacts run;
  double measured_over_predicted = 1;
  double measured_over_uncalibrated = 1;
  /// How the forecast follows what training leaves of the rate of matrix products (1 -
  /// `training_throttle`): step time goes as its power of minus `rate_share`. About the share of
  /// the step that is matrix products.
  double rate_share = 0;
};

struct ResidualTable {
  std::vector<Residual> rows;

  /// Nothing if `diagnostics` received an error: missing columns, numbers that are none or not
  /// above zero.
  static std::optional<ResidualTable> read(std::shared_ptr<const simcore::SourceText> source,
                                           simcore::Diagnostics& diagnostics);
};

/// With its header; ratios with six digits, so that the file changes only where forecasts do.
std::string to_csv(const ResidualTable& table);

/// Weights that add up to 1 for a set of rows: every group of source, model and GPU counts the
/// same, and so do the rows within it, so that no large source dominates.
std::vector<double> group_weights(const std::vector<const Residual*>& rows);

/// Of values with weights that add up to 1; `share` 0..1. Linear between the middles of the
/// weights, the outermost values beyond them.
double weighted_quantile(const std::vector<double>& values, const std::vector<double>& weights,
                         double share);

}  // namespace shardsim::scenario

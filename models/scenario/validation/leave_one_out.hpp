// How well runs of a source are forecast that the constants have not seen.
//
// Models: one constant a GPU is calibrated on training runs, `training_throttle`. For each source
// it is fitted again on the others: the factor on what training leaves of the rate of matrix
// products is the median over runs of which these products are half of the time or more, every
// group (source, model, GPU) counting the same. Where no other source has the GPU, its generation
// counts; where none has that either, the forecast is the one without calibration. Step times
// follow the factor by their `rate_share`, which is exact to first order. The interval of each run
// comes from the residuals of the other sources, with their fit. Leaves out: constants that
// training runs did not set (kernels, CPU, NCCL), which stay.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/scenario/accuracy/residual_table.hpp"

namespace shardsim::scenario {

/// How well 90 % intervals hold runs. A mean over runs of numbers of the logarithm of measured over
/// predicted, so that a width of 0.2 is a fifth of the step.
struct IntervalQuality {
  double coverage = 0;  ///< share of runs within
  double width = 0;
  /// Width plus 20 times how far outside the run is: least, on average, for the true 5 % and 95 %
  /// quantiles (Gneiting and Raftery 2007, section 6.2).
  double score = 0;
};

/// Scores of forecasts, by run and with every group counting the same.
struct AccuracyScore {
  std::string what;
  std::size_t rows = 0;
  double median_abs_error = 0;
  double p90_abs_error = 0;
  double bias = 0;
  double group_median_abs_error = 0;
  double group_p90_abs_error = 0;
  double group_bias = 0;
  std::optional<IntervalQuality> intervals;  ///< nothing where no run has one
  std::optional<IntervalQuality> group_intervals;
};

/// What a fit on all sources would make of a GPU's constant.
struct RefitConstant {
  std::string gpu;
  std::size_t rows = 0;
  double factor = 1;  ///< on 1 - `training_throttle`
};

struct LeaveOneOutReport {
  /// As shipped, without calibration, left out; then each source left out.
  std::vector<AccuracyScore> scores;
  std::vector<RefitConstant> constants;
};

/// Nothing to say about an empty table: no scores.
LeaveOneOutReport leave_one_out(const ResidualTable& table);

std::string to_text(const LeaveOneOutReport& report);

}  // namespace shardsim::scenario

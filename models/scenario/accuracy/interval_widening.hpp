// What makes a forecast less certain than the published runs that it is compared with.
//
// Models: how far forecasts drift when a run grows. Within each source and GPU, the logarithm of
// measured over predicted changes along the logarithm of the number of GPUs (of one and the same
// model) and of the parameters (between models); the drift is the median of the absolute slopes
// of sources and GPUs. A run that lies k doublings outside the sizes of the published runs of
// its family gets (k x drift)^2 of variance. Likewise fp8: the median of what the fp8 runs of a
// source and GPU differ by from its others. Where the table has nothing to tell a trait by, a
// factor on the width stands in.
// Assumes: drift goes on at its rate; drifts of GPUs and parameters are independent.
// Leaves out: interactions of size with the network and with the strategy.
#pragma once

#include <string>
#include <vector>

#include "models/scenario/accuracy/residual_table.hpp"

namespace shardsim::scenario {

/// Standard deviations of the logarithm of measured over predicted.
struct ResidualDrift {
  double per_doubling_of_gpus = 0;
  double per_doubling_of_parameters = 0;
  double fp8 = 0;  ///< 0: no source has both fp8 runs and others
};

/// `calibrated`: of forecasts as made, else of those without calibration.
ResidualDrift residual_drift(const ResidualTable& table, bool calibrated);

struct IntervalWidening {
  double variance = 0;               ///< to be added to that of the logarithm
  double factor = 1;                 ///< on the width
  bool beyond = false;               ///< of sizes or with traits that no run compared has
  std::vector<std::string> reasons;  ///< "8 times as many GPUs as any published run"
};

/// Of a forecast of `run` that is compared with `rows` (at least one) of `table`.
IntervalWidening widening(const RunFacts& run, const std::vector<const Residual*>& rows,
                          const ResidualTable& table);

}  // namespace shardsim::scenario

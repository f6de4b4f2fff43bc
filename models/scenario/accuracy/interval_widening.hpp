// What makes a forecast less certain than the published runs that it is compared with.
//
// Models: how far forecasts drift when a run grows. Within each source and GPU, the logarithm of
// measured over predicted changes along the logarithm of the number of GPUs (of one and the same
// model) and of the parameters (between models). Slopes of sources and GPUs scatter around zero by
// the drift, and each by what the spread of its few runs gives by itself; the drift is what is left
// without that (effect_scale in student_t.hpp). A run that lies k doublings outside the sizes of
// the published runs of its family gets (k x drift)^2 more of squared scale. Likewise fp8, by what
// the fp8 runs of a source and GPU differ by from its others. Where the table has nothing to tell a
// trait by, a factor on the width stands in.
// Assumes: drift goes on at its rate; drifts of GPUs and parameters are independent.
// Leaves out: interactions of size with the network and with the strategy.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/scenario/accuracy/residual_table.hpp"

namespace shardsim::scenario {

/// Scales of the logarithm of measured over predicted.
struct ResidualDrift {
  double per_doubling_of_gpus = 0;
  double per_doubling_of_parameters = 0;
  std::optional<double> fp8;  ///< nothing: no source has both fp8 runs and others
};

/// `calibrated`: of forecasts as made, else of those without calibration. `squared_scale`: of a run
/// among others like it (residual_model.hpp).
ResidualDrift residual_drift(const ResidualTable& table, bool calibrated, double squared_scale);

struct IntervalWidening {
  double squared_scale = 0;          ///< to be added to that of the logarithm
  double factor = 1;                 ///< on the width
  bool beyond = false;               ///< of sizes or with traits that no run compared has
  std::vector<std::string> reasons;  ///< "8 times as many GPUs as any published run"
};

/// Of a forecast of `run` that is compared with `rows` (at least one) of `table`; `squared_scale`
/// as in residual_drift.
IntervalWidening widening(const RunFacts& run, const std::vector<const Residual*>& rows,
                          const ResidualTable& table, double squared_scale);

}  // namespace shardsim::scenario

// The interval in which a forecast's step time is likely to be measured.
//
// Models: the forecast times what comparable published runs measured over what was predicted for
// them. Logarithms of these ratios are taken as normal: the interval is the prediction interval
// of Student's t for one more group of runs (a source, a model, a GPU), every group counting the
// same, so that few groups give a wide interval. Comparable are runs of the same family of
// strategies and of similar size (parameters within a factor of 8, GPUs within a factor of 16)
// on the same GPU; where fewer than four groups are, on its generation, then on any GPU, then of
// any size. fp8 runs count for fp8 runs only. A GPU without calibration on training runs is
// compared with forecasts that leave calibration out. Where no run has the family, the
// generation, the element type or CPU offload, the interval is 1.5 times as wide each (assumed).
// Beyond the sizes of all runs of the family, variance is added as forecasts have drifted with
// size among the published runs (interval_widening.hpp), and for fp8 as fp8 runs have differed
// from others, unless four groups of fp8 runs are among those compared. What widens is said.
// Assumes: a new run differs from the published ones as they differ among themselves.
// Leaves out: compilation and the network, which would leave too few runs to compare.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "models/scenario/accuracy/residual_table.hpp"
#include "models/scenario/result.hpp"

namespace shardsim::scenario {

struct ForecastInterval {
  double low = 1;  ///< factors on the forecast
  double high = 1;
  std::size_t runs = 0;  ///< compared with
  /// Of the strategy's family, on the GPU's generation, of similar size, with all of its traits.
  bool comparable = false;
  std::string what;  ///< which, e.g. "FSDP, H100-SXM5-80GB, 2 to 54 billion parameters, ..."
};

/// Holds `confidence` (0..1, both tails alike, 0.5 to 0.99) of such runs. Nothing for prescribed
/// times and where the whole table has fewer than four groups.
std::optional<ForecastInterval> forecast_interval(const RunFacts& run, const ResidualTable& table,
                                                  double confidence = 0.9);

/// The same for a forecast of this step time, 90 %.
std::optional<StepInterval> step_interval(const RunFacts& run, simcore::SimTime step,
                                          const ResidualTable& table);

/// Quantile of Student's t with `freedom` degrees (>= 3) for `share` 0.5..0.995; within 0.5 % up to
/// a share of 0.95.
double student_t_quantile(double share, double freedom);

}  // namespace shardsim::scenario

// The interval in which a forecast's step time is likely to be measured.
//
// Models: the forecast times what published runs of the same family of strategies measured over
// what was predicted for them. The logarithm of this ratio is taken as Student's t with three
// degrees of freedom, as many runs are a few percent off and few by a lot; centre and scale come
// from all runs of the family but those in fp8, every group (a source, a model, a GPU) counting the
// same, and the centre from the GPU's own as far as GPUs differ (residual_model.hpp). The interval
// is the prediction interval for one more run. A GPU without calibration on training runs is
// judged by forecasts that leave calibration out.
// Which runs are comparable is said beside it: of the same family and of similar size (parameters
// within a factor of 8, GPUs within a factor of 16) on the same GPU; where fewer than four groups
// are, on its generation; none where that fails, too, and then the nearest are named: on any GPU,
// of any size, of any family. fp8 runs count for fp8 runs only. Where no run has the family, the
// generation, the element type or CPU offload, the interval is 1.5 times as wide each (assumed).
// Beyond the sizes of all runs of the family it widens as forecasts have drifted with size among
// the published runs, and in fp8 by what fp8 runs differ by from others (interval_widening.hpp).
// What widens is said.
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
  std::size_t runs = 0;             ///< that it is drawn from
  std::size_t comparable_runs = 0;  ///< that `what` names
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

}  // namespace shardsim::scenario

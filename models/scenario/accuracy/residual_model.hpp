// How far published runs were off, as the distribution that a forecast's error is drawn from.
//
// Models: the logarithm of measured over predicted of a run is the centre of its GPU plus an error
// of the run. Errors follow Student's t (student_t.hpp) with one scale for all GPUs, sizes and
// sources: what is left of each is too little to tell apart. Centres of GPUs scatter around a
// common one by `between`, with what their few groups leave uncertain taken off; a GPU's own centre
// counts as far as `between` exceeds that uncertainty (a hierarchical model, its hyperparameters by
// maximum likelihood). Every group (source, model, GPU) counts the same. GPUs with fewer than four
// groups stand together as one.
// Assumes: groups are independent; a GPU without runs is one more of those with.
// Leaves out: sources as a level of their own: their centres differ by no more than their groups.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/accuracy/residual_table.hpp"

namespace shardsim::scenario {

constexpr std::size_t fewest_groups = 4;

/// Of source, model and GPU.
std::size_t group_count(const std::vector<const Residual*>& rows);

/// The logarithm of measured over predicted; without calibration on training runs unless
/// `calibrated`.
double log_residual(const Residual& row, bool calibrated);

/// Where one more run stands: centre and squared scale of Student's t.
struct ResidualForecast {
  double centre = 0;
  double squared_scale = 0;
};

struct ResidualModel {
  struct Centre {
    double centre = 0;
    double squared_noise = 0;  ///< squared scale of what its groups leave uncertain
  };

  std::size_t runs = 0;
  double squared_scale = 0;  ///< of a run around its GPU's centre, corrected for what was fitted
  double between = 0;        ///< scale of the GPUs' centres around the common one
  Centre common;
  std::map<std::string, Centre> gpus;  ///< of those with four groups or more

  ResidualForecast forecast(const std::string& gpu) const;
};

/// Nothing from fewer than four groups.
std::optional<ResidualModel> fit_residuals(const std::vector<const Residual*>& rows,
                                           bool calibrated);

}  // namespace shardsim::scenario

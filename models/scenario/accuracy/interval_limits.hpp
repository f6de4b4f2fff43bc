// In what a forecast is unlike every published run that its interval is drawn from.
//
// The interval knows family, size, GPU, precision and offload (forecast_interval.hpp). Whether
// forecasts are further off where a step waits for communication or for the CPU the published runs
// cannot tell: they hardly do (docs/accuracy.md), so that nothing could be learned and nothing is
// widened. What can be said is that the interval does not cover it. The same goes for what no
// published run has at all: perturbations, other jobs on the cluster, tapered fabrics and fabrics
// that are neither rails, fat-trees nor one switch.
#pragma once

#include <string>
#include <vector>

#include "models/scenario/accuracy/residual_table.hpp"
#include "models/scenario/experiment.hpp"
#include "models/scenario/result.hpp"

namespace shardsim::scenario {

/// What a leaf's NICs, or a pod's, can send over what leaves it, where the job's nodes are on
/// several: the larger of the two. 1: nothing is lost, as in all fabrics without leaves.
double fabric_taper(const network::FabricSpec& fabric, int nodes);

/// A share of the step that exceeds that of every published run by `worth_saying_share` or more.
constexpr double worth_saying_share = 0.02;

/// One line for each; empty if published runs are like it. Nothing for an empty table.
std::vector<std::string> interval_limits(const RunFacts& run, const ResidualTable& table);
std::vector<std::string> interval_limits(const Experiment& experiment);

/// Both, as a warning: "the 90 % interval does not cover ...". Empty without an interval.
std::string interval_warning(const Experiment& experiment, const Result& result,
                             const ResidualTable& table);

}  // namespace shardsim::scenario

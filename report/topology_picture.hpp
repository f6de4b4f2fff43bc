// The cluster as a picture needs it: a few whole nodes, the switches that join them, and how much
// each cable carried.
//
// A cluster of thousands of nodes does not fit into a picture. The nodes shown are those with the
// busiest cable and the first ones; of each tier of the fabric, the switches that they are plugged
// into and the busiest of the others. What is left out is counted.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "models/network/graph.hpp"
#include "models/scenario/simulation.hpp"

namespace shardsim::report {

struct PictureLimits {
  int gpus = 16;  ///< whole nodes of about as many, but two nodes at least
  int nodes = 8;
  int switches_per_tier = 16;
};

/// {devices: [{name, kind, node, tier, index}], cables: [{from, to, kind, gbytes_per_s, there,
/// back}], nodes, nodes_shown, switches, switches_shown}; `from` and `to` are indices of devices,
/// `there` and `back` {bytes, busy, mean, peak} of the two directions, null if there is none.
/// `loads` is by LinkId; empty: nothing was carried.
nlohmann::ordered_json topology_picture(const network::Graph& graph,
                                        const std::vector<scenario::LinkLoad>& loads,
                                        const PictureLimits& limits = {});

}  // namespace shardsim::report

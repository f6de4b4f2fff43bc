// Bisection bandwidth: what one half of the GPUs can send to the other at once; and the diameter.
//
// Models: the greatest flow from the first half of the ranks to the second over all routes. Assumes
// perfect spreading over parallel routes. The halves are by rank, that is by node and by leaf.
// Devices that are alike (colour_refinement.hpp) are merged and their links added up, which leaves
// the greatest flow as it is: of all greatest flows the mean over alike devices is one as well.
#pragma once

#include <cstddef>
#include <optional>

#include "models/network/graph.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::network {

/// 0 with fewer than two GPUs. With an odd number the first half is the smaller one.
simcore::BitRate bisection_bandwidth(const Graph& graph);

/// Links on the shortest way between the two NICs that are farthest apart, over the network alone;
/// nothing without two NICs, or if some do not reach each other there (rails that never meet).
std::optional<std::size_t> network_diameter(const Graph& graph);

}  // namespace shardsim::network

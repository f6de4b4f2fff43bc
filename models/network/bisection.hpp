// Bisection bandwidth: what one half of the GPUs can send to the other at once.
//
// Models: the greatest flow from the first half of the ranks to the second over all routes. Assumes
// perfect spreading over parallel routes. The halves are by rank, that is by node and by leaf.
#pragma once

#include "models/network/graph.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::network {

/// 0 with fewer than two GPUs. With an odd number the first half is the smaller one.
simcore::BitRate bisection_bandwidth(const Graph& graph);

}  // namespace shardsim::network

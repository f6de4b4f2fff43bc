// What in a cluster is allowed but seldom meant.
#pragma once

#include <string>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::network {

/// Where data take one of several ways up a fabric: switches whose links up (or, of a dragonfly, to
/// other pods) are slower than any NIC, so that no flow over them comes to a NIC's rate. Empty for
/// packet spraying, where a flow takes all ways at once. One sentence for each tier.
std::vector<std::string> uplink_warnings(const Graph& graph);

/// One sentence each, alike devices counted once: NICs that PCIe cannot feed, GPUs that share NICs
/// unevenly, GPUs without a NIC in their node where others have one, and uplink_warnings.
std::vector<std::string> topology_warnings(const Graph& graph);

}  // namespace shardsim::network

// What in a cluster is allowed but seldom meant.
#pragma once

#include <string>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::network {

/// One sentence each, alike devices counted once: NICs that PCIe cannot feed, GPUs that share NICs
/// unevenly, GPUs without a NIC in their node where others have one.
std::vector<std::string> topology_warnings(const Graph& graph);

}  // namespace shardsim::network

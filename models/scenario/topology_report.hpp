// What a cluster consists of, and what NCCL makes of it: for `shardsim topology`.
#pragma once

#include <iosfwd>
#include <string>

#include "models/scenario/collective_cluster.hpp"

namespace shardsim::scenario {

/// One JSON document: devices, links, bisection bandwidth, and under "nccl" the searched graphs,
/// the tuning table, choices for powers of two, and who is joined to whom in rings and trees.
std::string topology_json(const CollectiveCluster& cluster);

/// The same in brief, for people.
std::string topology_text(const CollectiveCluster& cluster);

/// The graph of devices in Graphviz's language; both directions of a cable are one edge.
void write_dot(std::ostream& out, const network::Graph& graph);

}  // namespace shardsim::scenario

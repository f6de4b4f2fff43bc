// Which nodes are built alike, so that what is found out about one holds for all of its kind.
//
// Two nodes have one shape if they hold the same devices in the same order, joined by the same
// kinds of links at the same places of each device's list. Ways that stay inside a node then take
// links at the same places. Assumes that devices of a node are numbered without a gap. Nodes with
// network switches of their own, or joined to others by anything but the network, have no shape.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/network/route_search.hpp"

namespace shardsim::network {

/// Without a shape.
inline constexpr std::int32_t no_shape = -1;

struct NodeShapes {
  std::vector<std::int32_t> of_node;  ///< shape by node, or no_shape
  std::vector<std::size_t> first_node_of_shape;
};

/// `devices`: of each node, in the order in which they were added.
NodeShapes find_node_shapes(const RouteTerrain& terrain,
                            std::span<const std::vector<VertexId>> devices);

}  // namespace shardsim::network

// The choice among equally short ways that a routing policy makes (routing_spec.hpp).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/network/graph.hpp"
#include "models/network/route_search.hpp"
#include "models/network/routing_spec.hpp"

namespace shardsim::network {

/// One way among `ways`, or shares of several: each link once, by vertex order of the way.
/// `target_port`: port of the receiving NIC on its switch. `links`: all links of the graph.
std::vector<LinkUse> choose_ways(const Ways& ways, const RoutingSpec& routing,
                                 const RouteRequest& request, std::span<const Vertex> vertices,
                                 std::span<const Link> links, std::size_t target_port);

}  // namespace shardsim::network

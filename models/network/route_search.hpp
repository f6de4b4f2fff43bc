// The search behind Graph::route: all shortest ways, breadth first from both ends at once.
//
// Meeting in the middle keeps the search away from switches with thousands of ports: of a route
// NIC, leaf, spine, leaf, NIC only the links of the two NICs and of one leaf are looked at. What it
// has seen stands in a small hash table, so that a search costs what it touches, not the size of
// the cluster.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/network/adjacency.hpp"
#include "models/network/graph.hpp"

namespace shardsim::network {

/// What a search may touch.
struct RouteScope {
  LinkKind worst = LinkKind::network;  ///< links of this kind and better
  /// All nodes; else the nodes of the two ends and the fabric.
  bool everywhere = false;
  const LinkOutages* outages = nullptr;  ///< links that carry nothing; nothing: none
};

struct RouteStep {
  VertexId from = 0;
  VertexId to = 0;
  LinkId link = 0;
};

/// All shortest ways: steps by distance from the start, then by vertex, then by the other end.
struct Ways {
  VertexId from = 0;
  VertexId to = 0;
  std::vector<RouteStep> all;
  std::vector<std::size_t> ends;  ///< by level: index behind its last step

  std::size_t levels() const { return ends.size(); }  ///< hops of each way
  std::span<const RouteStep> steps(std::size_t level) const;
  /// The steps of a level that start at a vertex.
  std::span<const RouteStep> steps_from(std::size_t level, VertexId vertex) const;
};

struct RouteTerrain {
  const Adjacency& adjacency;
  std::span<const Vertex> vertices;
  std::span<const Link> links;
};

/// `from` and `to` differ. Without levels if the scope holds no way.
Ways find_ways(const RouteTerrain& terrain, VertexId from, VertexId to, const RouteScope& scope);

}  // namespace shardsim::network

// Many ways through one cluster, found with less work than one by one.
//
// Models: the same ways as Graph::ways, to the last link. Of two NICs on different nodes that hang
// on one switch each, all shortest ways lead over these switches, and what lies between depends on
// them alone, unless a detour through one of the two nodes could be as short. So the ways between
// two switches are searched once; where the receiver's port alone decides among them, the choice is
// kept, too. Everything else - ways inside nodes, links to go around, NICs with several switches,
// static tables - is left to Graph::ways.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/network/graph.hpp"
#include "models/network/route_search.hpp"
#include "models/network/sparse_index.hpp"

namespace shardsim::network {

class RouteFinder {
 public:
  /// `graph` must outlive the finder and not change.
  explicit RouteFinder(const Graph& graph);

  /// What graph.ways() gives; holds until the next call.
  std::span<const LinkUse> ways(VertexId from, VertexId to, const RouteRequest& request = {});

 private:
  /// Where the network begins behind a device.
  struct Port {
    VertexId leaf = 0;
    LinkId link = 0;
  };
  /// What ways around the fabric a node could offer.
  struct NodeExits {
    bool plain = true;             ///< each device that leaves the node does so by one switch
    bool nics_joined = false;      ///< some of those devices are joined directly
    std::vector<VertexId> leaves;  ///< the switches, each once
  };
  /// All shortest ways between two switches, with room for the links of the two NICs.
  struct Middle {
    bool reached = false;
    Ways ways;
    std::vector<std::vector<LinkUse>> by_port;  ///< the way chosen, by the receiver's port
  };

  std::uint32_t exits_of(std::int32_t node);
  void note_exits(VertexId device, NodeExits& exits) const;
  bool applies(VertexId from, VertexId to, const RouteRequest& request) const;
  bool no_detour(VertexId from, const Port& out, VertexId to, const Port& in, std::size_t hops);
  Port port_out(VertexId nic) const;
  Port port_in(VertexId nic) const;
  Middle& middle(VertexId from, VertexId to);
  Middle search(VertexId from, VertexId to) const;
  std::span<const LinkUse> by_port(Middle& middle, const Port& out, VertexId to, const Port& in);
  std::span<const LinkUse> choose(Middle& middle, VertexId from, const Port& out, VertexId to,
                                  const Port& in, const RouteRequest& request);

  const Graph& graph_;
  RouteTerrain terrain_;
  SparseIndex nodes_;
  std::vector<NodeExits> exits_;  ///< by number of the node
  SparseIndex ends_;
  std::vector<Middle> middles_;  ///< by number of its ends
  std::size_t steps_kept_ = 0;
  std::vector<LinkUse> way_;
};

}  // namespace shardsim::network

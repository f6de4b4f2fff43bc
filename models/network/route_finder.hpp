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
    bool known = false;
    bool plain = false;            ///< each device that leaves the node does so by one switch
    bool nics_joined = false;      ///< some of those devices are joined directly
    std::vector<VertexId> leaves;  ///< the switches, each once
  };
  /// All shortest ways between two switches, with room for the links of the two NICs.
  struct Middle {
    std::uint64_t ends = no_ends;
    bool reached = false;
    Ways ways;
    std::vector<std::vector<LinkUse>> by_port;  ///< the way chosen, by the receiver's port
  };
  static constexpr std::uint64_t no_ends = ~std::uint64_t{0};

  const NodeExits& exits_of(std::int32_t node);
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
  std::vector<NodeExits> exits_;        ///< by node
  std::vector<std::uint32_t> buckets_;  ///< index of a middle; open addressing, a power of two
  std::vector<Middle> middles_;
  std::size_t steps_kept_ = 0;
  std::uint32_t last_ = 0;  ///< middle asked for last
  std::vector<LinkUse> way_;
};

}  // namespace shardsim::network

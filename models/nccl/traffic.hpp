// From hops to links: which links a pattern of data movement loads, and how much.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/nccl/link_weights.hpp"
#include "models/nccl/ring_plan.hpp"
#include "models/network/flow_network.hpp"
#include "models/network/route_finder.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::nccl {

/// Hops of one kind, and the mean over them of what the cables on a hop's route take.
struct HopLatency {
  std::int64_t hops = 0;
  simcore::SimTime mean;
};

/// Data movement as one coupled flow.
struct Traffic {
  std::vector<network::LinkUse> uses;  ///< bytes on each link per byte of the flow, by link
  simcore::BitRate rate;         ///< of the flow where nothing else uses the links; 0 without links
  simcore::BitRate nvlink_rate;  ///< where NVLink alone limits it; 0 without NVLink
  HopLatency inside;             ///< within nodes
  HopLatency between;            ///< between nodes
  double nic_share = 0;          ///< most bytes that a NIC sends per byte of the flow
  bool inside_by_nvlink = true;  ///< hops inside nodes use nothing else
  bool network_by_cpu = false;   ///< a CPU lies between a GPU and its NIC
};

/// Adds up ways as the cluster's routing chooses them. Each pair of devices is routed once, and of
/// pairs inside nodes that are built alike those of one node.
class TrafficBuilder {
 public:
  /// `outages`: links to go around; must outlive the builder. Of several `queue_pairs` between two
  /// devices each takes a way of its own, where routing lets it (ECMP).
  explicit TrafficBuilder(const network::Graph& graph,
                          const network::LinkOutages* outages = nullptr, int queue_pairs = 1);

  /// Every byte of the flow puts `share` bytes on each link of the way. False if there is no way.
  bool add(const Hop& hop, double share);
  /// The same for a given chain of devices, each routed to the next.
  bool add_chain(std::span<const network::VertexId> devices, bool between_nodes, double share);
  /// One link alone, without a hop.
  void add_link(network::LinkId link, double share);
  /// A hop inside nodes that add_link made up.
  void count_inside_hop(simcore::SimTime latency);

  Traffic finish();

 private:
  /// Part of one of the pools below.
  struct Range {
    std::uint32_t first = 0;
    std::uint32_t size = 0;
  };
  /// A link inside a node, by what is the same in all nodes of a shape.
  struct Step {
    std::uint32_t slot = 0;   ///< of the device that it leaves
    std::uint32_t place = 0;  ///< among the links that leave it
  };
  struct KnownPair {
    std::uint64_t ends = no_ends;
    Range ways;
  };
  struct KnownInside {
    bool asked = false;
    bool inside = false;  ///< of a node, and without the network
    Range steps;
  };
  static constexpr std::uint64_t no_ends = ~std::uint64_t{0};

  std::span<const network::LinkUse> ways(network::VertexId from, network::VertexId to,
                                         double share);
  /// The way inside a node; nothing if it leaves the node or the node is like no other.
  std::optional<std::span<const Step>> steps_inside(network::VertexId from, network::VertexId to);
  KnownInside find_inside(network::VertexId from, network::VertexId to);
  KnownPair& place_of(std::uint64_t ends);
  void double_known();
  void use(const network::LinkUse& use, bool between_nodes, double share,
           simcore::SimTime& latency);

  const network::Graph& graph_;
  const network::LinkOutages* outages_;
  int queue_pairs_;
  network::RouteFinder routes_;
  std::vector<KnownPair> known_;  ///< open addressing, a power of two of places
  std::size_t known_count_ = 0;
  std::vector<network::LinkUse> pool_;
  std::vector<std::vector<KnownInside>> inside_;  ///< by shape of the node, by slots of both ends
  std::vector<Step> steps_;
  LinkWeights weights_;
  Traffic made_;
  simcore::SimTime inside_total_;
  simcore::SimTime between_total_;
};

}  // namespace shardsim::nccl

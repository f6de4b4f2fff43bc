// From hops to links: which links a pattern of data movement loads, and how much.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/nccl/ring_plan.hpp"
#include "models/network/flow_network.hpp"
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
  bool inside_by_nvlink = true;  ///< hops inside nodes use nothing else
  bool network_by_cpu = false;   ///< a CPU lies between a GPU and its NIC
};

/// Adds up ways as the cluster's routing chooses them. Each pair of devices is routed once.
class TrafficBuilder {
 public:
  /// `outages`: links to go around; must outlive the builder.
  explicit TrafficBuilder(const network::Graph& graph,
                          const network::LinkOutages* outages = nullptr);

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
  const std::vector<network::LinkUse>& ways(network::VertexId from, network::VertexId to,
                                            double share);
  void note_kinds(network::LinkId id, bool between_nodes);

  const network::Graph& graph_;
  const network::LinkOutages* outages_;
  std::unordered_map<std::uint64_t, std::vector<network::LinkUse>> ways_;
  std::vector<double> weights_;  ///< by link; 0: not used
  std::vector<network::LinkId> touched_;
  Traffic made_;
  simcore::SimTime inside_total_;
  simcore::SimTime between_total_;
};

}  // namespace shardsim::nccl

// The hops of the channels that NCCL's search found, on the devices of a cluster.
//
// Models: rings and trees as NCCL joins them over the nodes (connect.hpp), by the NICs of each
// channel. All channels of an algorithm carry equal shares. GPUs that may not reach each other's
// memory, and NICs that may not reach a GPU's, go through the memory of the GPU's CPU; a GPU
// reaches a NIC through a neighbour where NCCL's path does (PXN). A network device of several NICs
// spreads over all of them.
// Assumes that devices are numbered alike in the plan and in the cluster. Leaves out CollNet.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "models/nccl/node_layout.hpp"
#include "models/nccl/planner.hpp"
#include "models/nccl/ring_plan.hpp"

namespace shardsim::nccl {

/// Takes a hop and the bytes that every byte of the flow puts on it. False: take no more. Hops are
/// handed over one by one, since a cluster may have tens of millions.
using HopVisitor = std::function<bool(const Hop& hop, double share)>;

class ChannelHops {
 public:
  /// All three must outlive it. `domains` are of one group, the plan for their shape.
  ChannelHops(const network::Graph& graph, std::span<const Domain> domains,
              const PlannedCommunicator& plan);

  /// A byte of the flow crosses every hop of every ring, in the rings' shares.
  /// False if the visitor was.
  bool rings(const HopVisitor& visit) const;
  /// An all-reduce of the flow's bytes over chains in nodes, two trees between them.
  bool trees(const HopVisitor& visit) const;
  /// Between nodes, the same for trees of NVLS heads.
  bool nvls_trees(const HopVisitor& visit) const;
  /// From one GPU to another of its node, given by ranks within the node.
  Hop inside(int node, int from, int to) const;
  /// NICs of a node that the plan knows.
  std::vector<network::VertexId> nics(int node) const;

 private:
  /// A GPU of a node and the network device by which its channel leaves or enters.
  struct End {
    int node = 0;
    int local = 0;  ///< rank within the node
    int net = -1;
  };
  int rank_of(int node, int local) const;
  std::optional<network::VertexId> cpu_of(int node, int local) const;
  std::vector<network::VertexId> nics_of(int node, int net) const;
  int between_by_nvlink(int from, int to) const;
  void by_nics(int node, int from, int to, Hop& hop) const;
  bool between(const End& from, const End& to, double share, const HopVisitor& visit) const;

  const network::Graph& graph_;
  std::span<const Domain> domains_;
  const PlannedCommunicator& plan_;
};

}  // namespace shardsim::nccl

// The rings of a group of ranks: the order in which data pass its GPUs and NICs.
//
// Models: rings run node by node. Where there are several nodes, there is one ring for each NIC
// that every node has. Ring c enters a node by port c. If the port's NIC serves a second GPU, the
// ring leaves from that GPU by the same NIC; otherwise ports are paired, and ring c leaves by the
// other port of the pair, entering and leaving the next node the other way round, so that data stay
// on their rail (NCCL's "crossNic 2"; NVIDIA/nccl 2.30.7 src/graph/connect.cc). A port without a
// partner is left by its own NIC, reached from a neighbouring GPU by NVLink. Inside a node a ring
// walks the GPUs in hardware order, away from where it leaves.
// Within one node all rings of an NVLink or PCIe switch load its links alike, so that one ring
// stands for all; direct NVLinks get their own set (nvlink_mesh.hpp).
// Assumes that all rings carry equal shares. Leaves out NCCL's search, which may find fewer rings
// where PCIe paths are short of bandwidth.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/nccl/node_layout.hpp"

namespace shardsim::nccl {

/// Data pass from one rank to the next; between nodes by NICs, where the ports have them.
struct Hop {
  int from_rank = 0;
  int to_rank = 0;
  bool between_nodes = false;
  /// GPU of the sending node beside out_nic, if data go there by NVLink first (NCCL's PXN).
  std::optional<int> via_rank = std::nullopt;
  std::optional<network::VertexId> out_nic = std::nullopt;
  std::optional<network::VertexId> in_nic = std::nullopt;
  /// CPUs whose memory the data pass on either side, where GPUs and NICs may not reach each other.
  std::optional<network::VertexId> out_cpu = std::nullopt;
  std::optional<network::VertexId> in_cpu = std::nullopt;
};

struct Ring {
  std::vector<int> order;  ///< ranks; data return from the last to the first
  std::vector<Hop> hops;   ///< hops[i] leaves order[i]; none if there is one rank
};

struct RingPlan {
  int ranks = 0;
  int nodes = 0;            ///< NVLink domains or hosts
  std::vector<Ring> rings;  ///< at least one
};

RingPlan plan_rings(const network::Graph& graph, std::span<const Domain> domains);

}  // namespace shardsim::nccl

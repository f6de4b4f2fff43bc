// How a group of ranks lies on the cluster: NVLink domains and the ports by which to leave them.
//
// Models: what NCCL calls a node - the GPUs of a host, or of several hosts behind one NVLink
// switch. Nodes are ordered by their first rank in the group; within one, GPUs stand in the order
// of the hardware. A port is a GPU and a NIC; GPUs take turns in taking the nearest NICs that are
// dealt to them, so that neighbouring ports lie on different GPUs where they can.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/network/graph.hpp"

namespace shardsim::nccl {

/// Without a NIC the GPU itself is plugged into the network.
struct Port {
  int rank = 0;
  std::optional<network::VertexId> nic;
};

struct Domain {
  std::vector<int> ranks;  ///< by host, then by GPU
  /// NICs dealt to each of the ranks; two GPUs may share one.
  std::vector<std::vector<network::VertexId>> nics;
  std::vector<Port> ports;  ///< at least one
  /// The switch that all GPUs are on, if they are.
  std::optional<network::VertexId> nvswitch;
};

std::vector<Domain> find_domains(const network::Graph& graph, std::span<const int> group);

/// The first rank after `port.rank`, in a circle, that the port's NIC is dealt to as well.
std::optional<int> sharer_of(const Domain& domain, const Port& port);

/// The NVLink switch that a GPU is on.
std::optional<network::VertexId> nvswitch_of(const network::Graph& graph, int rank);

}  // namespace shardsim::nccl

// A topology and a number of nodes become a graph.
//
// Vertices stand node by node (GPUs, NVLink switch, PCIe switches, CPUs, NICs), then the fabric
// (shared NVLink switches, leaves, spines, cores). A leaf has to its spines the bandwidth of the
// NICs that a full group plugs into it, divided by the oversubscription and shared out evenly; a
// spine to the cores likewise, or in a dragonfly to the spines of its number in the other pods.
// With one spine (or core) that one stands for all, as if traffic spread over them ideally.
#pragma once

#include <cstdint>
#include <optional>

#include "models/network/graph.hpp"
#include "models/network/topology_spec.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::network {

/// What a graph may hold: about 100 bytes a device and 60 a link, so that these stay below 3 GB.
struct SizeLimits {
  std::int64_t devices = 8'000'000;  ///< of all nodes, and one switch port for each node
  std::int64_t cables = 4'000'000;   ///< between switches
};

/// How much of a topology to build.
struct ClusterSize {
  std::int64_t nodes = 1;
  std::optional<std::int64_t> gpus_per_node;  ///< the first ones; nothing: all
  simcore::SourceLocation nodes_where;        ///< where the request stands, for messages
  simcore::SourceLocation gpus_where;
  SizeLimits limits{};
};

/// Nothing if the topology does not allow that size, or if devices cannot reach each other.
std::optional<Graph> build_graph(const TopologySpec& spec, const ClusterSize& size,
                                 simcore::Diagnostics& diagnostics);

}  // namespace shardsim::network

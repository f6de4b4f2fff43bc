// Clusters small enough to reason about, and a backend on them whose collectives can be timed.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "models/nccl/ring_backend.hpp"
#include "models/nccl/ring_model.hpp"

namespace shardsim::nccl {

using network::DeviceKind;
using network::LinkKind;
using network::VertexId;
using simcore::BitRate;
using simcore::Bytes;
using simcore::SimTime;

/// Nodes of GPUs on an NVLink switch; each GPU with a NIC of its own behind a PCIe switch; NIC i of
/// all nodes on leaf i, all leaves on a spine.
struct ClusterShape {
  int nodes = 1;
  int gpus = 8;  ///< per node
  double nvlink = 400e9;
  double pcie = 60e9;
  double nic = 50e9;
  double leaf_to_spine = 1e15;
  SimTime nvlink_latency{};   ///< of one cable: two to a hop
  SimTime network_latency{};  ///< of NIC to leaf: two to a hop
};

struct Cluster {
  network::Graph graph;

  network::LinkId link(const std::string& from, const std::string& to) const {
    return *graph.find_link(*graph.find_vertex(from), *graph.find_vertex(to));
  }
};

inline void join(network::Graph& graph, VertexId a, VertexId b, LinkKind kind, double bandwidth,
                 SimTime latency) {
  graph.add_link({a, b, kind, BitRate{bandwidth}, latency});
  graph.add_link({b, a, kind, BitRate{bandwidth}, latency});
}

inline Cluster make_cluster(const ClusterShape& shape) {
  Cluster cluster;
  network::Graph& graph = cluster.graph;
  std::vector<VertexId> nics;
  for (int node = 0; node < shape.nodes; ++node) {
    const VertexId nvswitch = graph.add_vertex({DeviceKind::nvswitch, node, 0, 0});
    for (int i = 0; i < shape.gpus; ++i) {
      const VertexId gpu = graph.add_vertex({DeviceKind::gpu, node, i, 0});
      const VertexId pcie = graph.add_vertex({DeviceKind::pcie_switch, node, i, 0});
      nics.push_back(graph.add_vertex({DeviceKind::nic, node, i, 0}));
      join(graph, gpu, nvswitch, LinkKind::nvlink, shape.nvlink, shape.nvlink_latency);
      join(graph, gpu, pcie, LinkKind::pcie, shape.pcie, {});
      join(graph, pcie, nics.back(), LinkKind::pcie, shape.pcie, {});
    }
  }
  if (shape.nodes == 1) return cluster;
  const VertexId spine = graph.add_vertex({DeviceKind::network_switch, -1, 0, 1});
  for (int i = 0; i < shape.gpus; ++i) {
    const VertexId leaf = graph.add_vertex({DeviceKind::network_switch, -1, i, 0});
    join(graph, leaf, spine, LinkKind::network, shape.leaf_to_spine, {});
    for (int node = 0; node < shape.nodes; ++node) {
      const VertexId nic = nics[static_cast<std::size_t>(node * shape.gpus + i)];
      join(graph, nic, leaf, LinkKind::network, shape.nic, shape.network_latency);
    }
  }
  return cluster;
}

/// One protocol without any cost but the bandwidth and `alpha` a step.
inline RingTuning plain_tuning(SimTime alpha) {
  ProtocolTuning protocol;
  protocol.name = "Simple";
  protocol.nvlink_step = alpha;
  protocol.pcie_step = alpha;
  protocol.network_step = alpha;
  protocol.network_step_alone = alpha;
  return RingTuning{{protocol}, {}, BitRate{20e9}};
}

inline std::vector<int> ranks_below(int count) {
  std::vector<int> ranks(static_cast<std::size_t>(count));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// A communicator of one group whose members are all simulated.
inline CommunicatorSpec one_group(std::vector<int> ranks, std::string role = "world") {
  const auto members = static_cast<std::uint32_t>(ranks.size());
  return CommunicatorSpec{std::move(role), {std::move(ranks)}, members};
}

inline cuda::CollectiveSpec collective(cuda::CollectiveKind kind, std::int64_t bytes) {
  cuda::CollectiveSpec spec;
  spec.kind = kind;
  spec.bytes = Bytes{bytes};
  return spec;
}

class BackendFixture : public cuda::CollectiveListener {
 public:
  BackendFixture(const network::Graph& graph, RingTuning tuning)
      : flows(graph, queue), model(std::move(tuning)), backend(graph, flows, queue, model) {
    backend.attach(*this);
    backend.collective_finished.listen([this](const CollectiveRecord& r) { records.push_back(r); });
  }

  void member_finished(std::uint32_t instance, std::uint32_t member) override {
    ends[{instance, member}].push_back(queue.now().picoseconds());
  }
  void arrive_all(std::uint32_t instance, std::uint32_t members, const cuda::CollectiveSpec& spec) {
    for (std::uint32_t member = 0; member < members; ++member) {
      backend.arrive(instance, member, spec);
    }
  }
  void run() {
    while (queue.step()) {
    }
  }
  std::int64_t end_of(std::uint32_t instance, std::uint32_t member = 0) const {
    const auto found = ends.find({instance, member});
    return found == ends.end() ? -1 : found->second.back();
  }

  simcore::EventQueue queue;
  network::FlowNetwork flows;
  RingModel model;
  RingBackend backend;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>> ends;
  std::vector<CollectiveRecord> records;
};

inline std::int64_t picoseconds(double seconds) { return std::llround(seconds * 1e12); }

}  // namespace shardsim::nccl

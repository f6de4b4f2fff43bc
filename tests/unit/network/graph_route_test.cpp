#include <chrono>
#include <map>
#include <queue>
#include <tuple>

#include <doctest/doctest.h>

#include "topology_fixture.hpp"

namespace shardsim::network {

using testing::at;
using testing::build;
using testing::good_spec;
using testing::shipped_spec;
using testing::way;

TEST_CASE("GPUs of a node talk over NVLink, not PCIe") {
  const Graph graph = build(shipped_spec("dgx-a100"), 1);
  CHECK(way(graph, "node[0].gpu[0]", "node[0].gpu[1]") == "node[0].nvswitch[0] node[0].gpu[1]");
  CHECK(way(graph, "node[0].gpu[0]", "node[0].gpu[7]") == "node[0].nvswitch[0] node[0].gpu[7]");
}

TEST_CASE("GPUs without NVLink talk through their switch, then through the CPUs") {
  const Graph graph = build(shipped_spec("pcie-8xl40s"), 1);
  CHECK(way(graph, "node[0].gpu[0]", "node[0].gpu[3]") == "node[0].pcie_switch[0] node[0].gpu[3]");
  CHECK(way(graph, "node[0].gpu[0]", "node[0].gpu[4]") ==
        "node[0].pcie_switch[0] node[0].cpu[0] node[0].cpu[1] node[0].pcie_switch[1] "
        "node[0].gpu[4]");
}

TEST_CASE("a GPU carries no traffic of others, even where NVLink would allow it") {
  const Graph graph = build(shipped_spec("dgx-1v"), 1);
  CHECK(way(graph, "node[0].gpu[0]", "node[0].gpu[4]") == "node[0].gpu[4]");
  // No NVLink joins 0 and 5: PCIe, though 0-1-5 is shorter.
  CHECK(way(graph, "node[0].gpu[0]", "node[0].gpu[5]") ==
        "node[0].pcie_switch[0] node[0].cpu[0] node[0].cpu[1] node[0].pcie_switch[2] "
        "node[0].gpu[5]");
}

TEST_CASE("the parts of a ring's step between nodes: GPU to NIC, NIC to NIC, NIC to GPU") {
  const Graph graph = build(shipped_spec("dgx-a100"), 4);
  CHECK(way(graph, "node[0].gpu[0]", "node[0].nic[1]") == "node[0].pcie_switch[0] node[0].nic[1]");
  CHECK(way(graph, "node[0].nic[1]", "node[3].nic[1]") == "leaf[1] node[3].nic[1]");
  CHECK(way(graph, "node[3].nic[1]", "node[3].gpu[1]") == "node[3].pcie_switch[0] node[3].gpu[1]");
}

TEST_CASE("NICs of different rails meet at the spine, not inside a node") {
  const Graph graph = build(shipped_spec("dgx-a100"), 2);
  CHECK(way(graph, "node[0].nic[0]", "node[1].nic[1]") ==
        "leaf[0] spine[0] leaf[1] node[1].nic[1]");
  CHECK(way(graph, "node[0].gpu[0]", "node[1].nic[7]") ==
        "node[0].pcie_switch[0] node[0].nic[0] leaf[0] spine[0] leaf[7] node[1].nic[7]");
}

TEST_CASE("NICs of one node talk over PCIe") {
  const Graph graph = build(shipped_spec("dgx-a100"), 2);
  CHECK(way(graph, "node[0].nic[0]", "node[0].nic[1]") == "node[0].pcie_switch[0] node[0].nic[1]");
}

TEST_CASE("rails of different groups meet at the spine") {
  const Graph graph = build(shipped_spec("dgx-a100"), 21);
  CHECK(way(graph, "node[0].nic[2]", "node[20].nic[2]") ==
        "leaf[2] spine[0] leaf[10] node[20].nic[2]");
}

TEST_CASE("GPUs of one NVLink domain need no network, those of two do") {
  const Graph graph = build(shipped_spec("gb200-nvl72"), 19);
  CHECK(way(graph, "node[0].gpu[0]", "node[17].gpu[3]") == "nvswitch[0] node[17].gpu[3]");
  CHECK(way(graph, "node[0].gpu[0]", "node[18].gpu[0]") ==
        "node[0].cpu[0] node[0].nic[0] leaf[0] spine[0] leaf[4] node[18].nic[0] node[18].cpu[0] "
        "node[18].gpu[0]");
}

TEST_CASE("targets are dealt out over the spines where routing is static") {
  TopologySpec spec = shipped_spec("dgx-a100");
  spec.fabric.spines = 4;
  spec.fabric.nodes_per_leaf = 8;
  const Graph graph = build(spec, 16);
  std::map<std::string, int> uses;
  for (int n = 8; n < 16; ++n) {
    const auto route = graph.route(at(graph, "node[0].nic[0]"),
                                   at(graph, "node[" + std::to_string(n) + "].nic[0]"));
    REQUIRE(route.size() == 4);
    ++uses[graph.vertex_name(graph.links()[route[1]].to)];
  }
  CHECK(uses == std::map<std::string, int>{
                    {"spine[0]", 2}, {"spine[1]", 2}, {"spine[2]", 2}, {"spine[3]", 2}});
}

TEST_CASE("pods are joined by core switches, over all spines and cores") {
  TopologySpec spec = shipped_spec("dgx-a100");
  spec.fabric.nodes_per_leaf = 4;
  spec.fabric.spines = 2;
  spec.fabric.pods = PodSpec{.nodes = 8, .oversubscription = 7, .cores = 2};
  const Graph graph = build(spec, 16);
  CHECK(way(graph, "node[0].nic[0]", "node[4].nic[0]") ==
        "leaf[0] spine[0] leaf[8] node[4].nic[0]");
  std::map<std::string, int> cores;
  for (int n = 8; n < 12; ++n) {
    const auto route = graph.route(at(graph, "node[0].nic[0]"),
                                   at(graph, "node[" + std::to_string(n) + "].nic[0]"));
    REQUIRE(route.size() == 6);
    ++cores[graph.vertex_name(graph.links()[route[1]].to) +
            graph.vertex_name(graph.links()[route[2]].to)];
  }
  CHECK(cores.size() == 4);
}

TEST_CASE("NICs that pass traffic on form a ring without switches") {
  const TopologySpec spec = good_spec(R"(
name: ring
gpu: any
node:
  gpus: 1
  cpus: {vendor: intel}
  pcie: {link: {bandwidth: 16 GB/s}}
  nics: {count: 1, link: {bandwidth: 100 Gbit/s}}
fabric: {kind: links, max_nodes: 5}
links:
  - {from: "node[0].nic[0]", to: "node[1].nic[0]", bandwidth: 100 Gbit/s}
  - {from: "node[1].nic[0]", to: "node[2].nic[0]", bandwidth: 100 Gbit/s}
  - {from: "node[2].nic[0]", to: "node[3].nic[0]", bandwidth: 100 Gbit/s}
  - {from: "node[3].nic[0]", to: "node[4].nic[0]", bandwidth: 100 Gbit/s}
  - {from: "node[4].nic[0]", to: "node[0].nic[0]", bandwidth: 100 Gbit/s}
)");
  const Graph graph = build(spec, 5);
  CHECK(way(graph, "node[0].nic[0]", "node[2].nic[0]") == "node[1].nic[0] node[2].nic[0]");
  CHECK(way(graph, "node[0].nic[0]", "node[3].nic[0]") == "node[4].nic[0] node[3].nic[0]");
  CHECK(way(graph, "node[0].gpu[0]", "node[2].gpu[0]") ==
        "node[0].cpu[0] node[0].nic[0] node[1].nic[0] node[2].nic[0] node[2].cpu[0] "
        "node[2].gpu[0]");
}

TEST_CASE("a one-way cable is no way back") {
  const TopologySpec spec = good_spec(R"(
name: one-way
gpu: any
node:
  gpus: 1
  cpus: {vendor: intel}
  pcie: {link: {bandwidth: 16 GB/s}}
  nics: {count: 2, link: {bandwidth: 100 Gbit/s}}
fabric: {kind: links, max_nodes: 2}
links:
  - {from: "node[0].nic[0]", to: "node[1].nic[0]", bandwidth: 100 Gbit/s, one_way: true}
  - {from: "node[1].nic[1]", to: "node[0].nic[1]", bandwidth: 100 Gbit/s, one_way: true}
)");
  const Graph graph = build(spec, 2);
  CHECK(way(graph, "node[0].gpu[0]", "node[1].gpu[0]") ==
        "node[0].cpu[0] node[0].nic[0] node[1].nic[0] node[1].cpu[0] node[1].gpu[0]");
  CHECK(way(graph, "node[1].gpu[0]", "node[0].gpu[0]") ==
        "node[1].cpu[0] node[1].nic[1] node[0].nic[1] node[0].cpu[0] node[0].gpu[0]");
}

namespace {

/// (worst kind, hops) of the best way, by brute force over the whole graph.
std::pair<int, int> best(const Graph& graph, VertexId from, VertexId to) {
  const bool from_nic = graph.vertices()[from].kind == DeviceKind::nic;
  const bool to_nic = graph.vertices()[to].kind == DeviceKind::nic;
  for (int worst = 0; worst < 4; ++worst) {
    std::vector<int> hops(graph.vertices().size(), -1);
    std::queue<VertexId> next;
    next.push(from);
    hops[from] = 0;
    while (!next.empty()) {
      const VertexId u = next.front();
      next.pop();
      if (u != from && graph.vertices()[u].kind == DeviceKind::gpu) continue;
      for (const LinkId l : graph.links_from(u)) {
        const Link& link = graph.links()[l];
        if (static_cast<int>(link.kind) > worst || hops[link.to] >= 0) continue;
        const bool at_nic_end = (u == from && from_nic) || (link.to == to && to_nic);
        if (worst == 3 && at_nic_end && link.kind != LinkKind::network) continue;
        hops[link.to] = hops[u] + 1;
        next.push(link.to);
      }
    }
    if (hops[to] >= 0) return {worst, hops[to]};
  }
  return {-1, -1};
}

}  // namespace

TEST_CASE("routes are as good as an exhaustive search finds, and unbroken") {
  for (const char* name : {"dgx-a100", "dgx-1v", "aws-p5", "gb200-nvl72", "pcie-8xl40s"}) {
    TopologySpec spec = shipped_spec(name);
    if (spec.fabric.nodes_per_leaf > 0) spec.fabric.nodes_per_leaf = 1;
    if (spec.node.nvlink && spec.node.nvlink->nodes_per_domain > 1) {
      spec.node.nvlink->nodes_per_domain = 2;
    }
    const Graph graph = build(spec, 3);
    const auto count = static_cast<VertexId>(graph.vertices().size());
    for (VertexId from = 0; from < count; from += 3) {
      for (VertexId to = 0; to < count; to += 2) {
        if (from == to) continue;
        const auto route = graph.route(from, to);
        int worst = 0;
        VertexId reached = from;
        for (const LinkId l : route) {
          const Link& link = graph.links()[l];
          REQUIRE(link.from == reached);
          reached = link.to;
          worst = std::max(worst, static_cast<int>(link.kind));
        }
        INFO(name << ": " << graph.vertex_name(from) << " to " << graph.vertex_name(to));
        const auto [best_worst, best_hops] = best(graph, from, to);
        REQUIRE(graph.reachable(from, to) == (best_hops > 0));
        if (best_hops < 0) continue;
        REQUIRE(reached == to);
        REQUIRE(std::pair(worst, static_cast<int>(route.size())) ==
                std::pair(best_worst, best_hops));
      }
    }
  }
}

TEST_CASE("equal graphs have equal routes") {
  const TopologySpec spec = shipped_spec("dgx-h100");
  const Graph one = build(spec, 4);
  const Graph other = build(spec, 4);
  for (int rank = 1; rank < one.gpu_count(); ++rank) {
    CHECK(one.route(one.gpu(0), one.gpu(rank)) == other.route(other.gpu(0), other.gpu(rank)));
  }
}

}  // namespace shardsim::network

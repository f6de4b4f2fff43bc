#include "models/network/topology_builder.hpp"

#include <doctest/doctest.h>

#include "topology_fixture.hpp"

namespace shardsim::network {

using testing::bisection;
using testing::build;
using testing::gbytes_per_s;
using testing::good_spec;
using testing::shipped_spec;

namespace {

int count(const Graph& graph, DeviceKind kind, int tier = 0) {
  return static_cast<int>(std::ranges::count_if(graph.vertices(), [&](const Vertex& vertex) {
    return vertex.kind == kind && vertex.tier == tier;
  }));
}

/// Two GPUs and two NICs of 100 Gbit/s a node.
TopologySpec small(FabricSpec fabric) {
  TopologySpec spec = good_spec(R"(
name: small
gpu: any
node:
  gpus: 2
  cpus: {vendor: intel}
  pcie: {switches: 1, link: {bandwidth: 32 GB/s}}
  nics: {count: 2, link: {bandwidth: 100 Gbit/s, latency: 1 us}}
fabric: {kind: single_switch}
)");
  fabric.switch_latency = simcore::SimTime::microseconds(2);
  spec.fabric = fabric;
  return spec;
}

constexpr double nic_rate = 12.5e9;

}  // namespace

TEST_CASE("a DGX A100 has what its maker says, node by node") {
  const Graph graph = build(shipped_spec("dgx-a100"), 3);
  CHECK(graph.gpu_count() == 24);
  CHECK(count(graph, DeviceKind::nvswitch) == 3);
  CHECK(count(graph, DeviceKind::pcie_switch) == 12);
  CHECK(count(graph, DeviceKind::cpu) == 6);
  CHECK(count(graph, DeviceKind::nic) == 24);
  CHECK(count(graph, DeviceKind::network_switch, 0) == 8);
  CHECK(count(graph, DeviceKind::network_switch, 1) == 1);
  CHECK(count(graph, DeviceKind::network_switch, 2) == 0);
  // Per node 8 NVLink, 8 + 8 + 4 PCIe, 1 between CPUs, 8 network; 8 leaves to the spine.
  CHECK(graph.links().size() == 2 * (3 * (8 + 20 + 1 + 8) + 8));
}

TEST_CASE("a cable has bandwidth times efficiency, and its own latency") {
  const Graph graph = build(shipped_spec("dgx-a100"), 1);
  CHECK(gbytes_per_s(graph, "node[0].gpu[0]", "node[0].nvswitch[0]") ==
        doctest::Approx(12 * 25 * 0.80));
  CHECK(gbytes_per_s(graph, "node[0].nvswitch[0]", "node[0].gpu[0]") ==
        doctest::Approx(12 * 25 * 0.80));
  CHECK(gbytes_per_s(graph, "node[0].nic[0]", "leaf[0]") == doctest::Approx(25 * 0.96));
  const auto link = graph.find_link(testing::at(graph, "node[0].gpu[0]"),
                                    testing::at(graph, "node[0].nvswitch[0]"));
  CHECK(graph.links()[*link].latency == simcore::SimTime::nanoseconds(300));
}

TEST_CASE("fewer GPUs per node are the first ones; the rest of the node stays") {
  const Graph graph = build(shipped_spec("dgx-a100"), 2, 3);
  CHECK(graph.gpu_count() == 6);
  CHECK(graph.local_index(5) == 2);
  CHECK(graph.node_of(5) == 1);
  CHECK(count(graph, DeviceKind::nic) == 16);
  // GPU 2 hangs on the second switch, as in the full node.
  CHECK(graph.find_link(testing::at(graph, "node[0].gpu[2]"),
                        testing::at(graph, "node[0].pcie_switch[1]")));
  const Graph mesh = build(shipped_spec("dgx-1v"), 1, 4);
  CHECK(mesh.gpu_count() == 4);
}

TEST_CASE("a full mesh shares the links of a GPU out over its peers") {
  TopologySpec spec = shipped_spec("dgx-a100");
  spec.node.gpus = 4;
  spec.node.nvlink->layout = NvlinkLayout::full_mesh;
  const Graph graph = build(spec, 1);
  CHECK(count(graph, DeviceKind::nvswitch) == 0);
  CHECK(gbytes_per_s(graph, "node[0].gpu[0]", "node[0].gpu[3]") == doctest::Approx(4 * 25 * 0.80));
}

TEST_CASE("an NVLink domain spans nodes, a rack after the other") {
  const Graph graph = build(shipped_spec("gb200-nvl72"), 37);
  CHECK(graph.gpu_count() == 148);
  CHECK(count(graph, DeviceKind::nvswitch) == 3);
  CHECK(graph.find_link(testing::at(graph, "node[17].gpu[0]"), testing::at(graph, "nvswitch[0]")));
  CHECK(graph.find_link(testing::at(graph, "node[18].gpu[0]"), testing::at(graph, "nvswitch[1]")));
  CHECK(graph.find_link(testing::at(graph, "node[36].gpu[0]"), testing::at(graph, "nvswitch[2]")));
}

TEST_CASE("a single switch is non-blocking") {
  const Graph graph = build(small({.kind = FabricKind::single_switch}), 4);
  CHECK(count(graph, DeviceKind::network_switch) == 1);
  CHECK(bisection(graph, 2) == doctest::Approx(4 * nic_rate));
}

TEST_CASE("a fat tree's bisection is what its oversubscription leaves") {
  const FabricSpec plain{.kind = FabricKind::fat_tree, .nodes_per_leaf = 2};
  CHECK(bisection(build(small(plain), 4), 2) == doctest::Approx(4 * nic_rate));
  FabricSpec thin = plain;
  thin.oversubscription = 2;
  CHECK(bisection(build(small(thin), 4), 2) == doctest::Approx(2 * nic_rate));
  FabricSpec many = plain;
  many.spines = 4;
  const Graph graph = build(small(many), 8);
  CHECK(count(graph, DeviceKind::network_switch, 0) == 4);
  CHECK(count(graph, DeviceKind::network_switch, 1) == 4);
  CHECK(bisection(graph, 4) == doctest::Approx(8 * nic_rate));
  CHECK(gbytes_per_s(graph, "leaf[0]", "spine[3]") == doctest::Approx(4 * 12.5 / 4));
}

TEST_CASE("a fat tree of one group needs no spine") {
  const Graph graph = build(small({.kind = FabricKind::fat_tree, .nodes_per_leaf = 4}), 4);
  CHECK(count(graph, DeviceKind::network_switch, 0) == 1);
  CHECK(count(graph, DeviceKind::network_switch, 1) == 0);
}

TEST_CASE("rails: NIC i of a group's nodes is on leaf i of the group") {
  const FabricSpec fabric{.kind = FabricKind::rail_optimised, .nodes_per_leaf = 2};
  const Graph graph = build(small(fabric), 4);
  CHECK(count(graph, DeviceKind::network_switch, 0) == 4);
  for (const auto& [nic, leaf] : {std::pair{"node[0].nic[1]", "leaf[1]"},
                                  {"node[1].nic[0]", "leaf[0]"},
                                  {"node[2].nic[0]", "leaf[2]"},
                                  {"node[3].nic[1]", "leaf[3]"}}) {
    INFO(nic);
    CHECK(graph.find_link(testing::at(graph, nic), testing::at(graph, leaf)));
  }
  CHECK(bisection(graph, 2) == doctest::Approx(4 * nic_rate));
  CHECK(gbytes_per_s(graph, "leaf[0]", "spine[0]") == doctest::Approx(2 * 12.5));
}

TEST_CASE("pods are full inside and thinned out by their oversubscription between") {
  FabricSpec fabric{.kind = FabricKind::fat_tree, .nodes_per_leaf = 2, .spines = 2};
  fabric.pods = PodSpec{.nodes = 4, .oversubscription = 4, .cores = 2};
  const Graph graph = build(small(fabric), 8);
  CHECK(count(graph, DeviceKind::network_switch, 0) == 4);
  CHECK(count(graph, DeviceKind::network_switch, 1) == 4);
  CHECK(count(graph, DeviceKind::network_switch, 2) == 2);
  CHECK(bisection(graph, 4) == doctest::Approx(8 * nic_rate / 4));
  CHECK(bisection(graph, 2) == doctest::Approx(4 * nic_rate));  // mostly inside the first pod
  CHECK_FALSE(graph.find_link(testing::at(graph, "leaf[0]"), testing::at(graph, "spine[2]")));
}

TEST_CASE("uplinks are those of a full group, however few nodes are in use") {
  const FabricSpec fabric{.kind = FabricKind::rail_optimised, .nodes_per_leaf = 32};
  CHECK(gbytes_per_s(build(small(fabric), 1), "leaf[0]", "spine[0]") == doctest::Approx(32 * 12.5));
}

TEST_CASE("cables one by one: a star written by hand is a single switch") {
  TopologySpec spec = small({.kind = FabricKind::links, .switches = {.leaf = 1}, .max_nodes = 8});
  spec.links = {{.from = "node[*].nic[0]", .to = "leaf[0]", .bandwidth = {12.5e9}, .latency = {}},
                {.from = "leaf[0]", .to = "node[*].nic[1]", .bandwidth = {12.5e9}, .latency = {}}};
  const Graph graph = build(spec, 4);
  CHECK(bisection(graph, 2) == doctest::Approx(4 * nic_rate));
  CHECK(testing::way(graph, "node[0].nic[1]", "node[3].nic[0]") == "leaf[0] node[3].nic[0]");
}

TEST_CASE("cables add to a generated fabric; those of absent nodes are left out") {
  TopologySpec spec = small({.kind = FabricKind::single_switch, .max_nodes = 4});
  spec.links = {{.from = "node[0].nic[0]",
                 .to = "node[3].nic[0]",
                 .bandwidth = {50e9},
                 .efficiency = {0.5},
                 .latency = {}}};
  // A node has 7 cables: 2 GPUs, 2 NICs, 1 switch, 2 ports. The listed one needs node 3.
  CHECK(build(spec, 2).links().size() == 2 * (2 * 7));
  CHECK(build(spec, 4).links().size() == 2 * (4 * 7 + 1));
  const Graph graph = build(spec, 4);
  CHECK(gbytes_per_s(graph, "node[0].nic[0]", "node[3].nic[0]") == doctest::Approx(25));
  CHECK(testing::way(graph, "node[0].nic[0]", "node[3].nic[0]") == "node[3].nic[0]");
}

TEST_CASE("2,048 nodes of 8 GPUs build well under a second and routes are cheap") {
  const TopologySpec spec = shipped_spec("dgx-h100");
  const Graph graph = build(spec, 2048);
  CHECK(graph.gpu_count() == 16'384);
  std::size_t hops = 0;
  for (int node = 0; node < 2048; ++node) {
    const int rank = node * 8;
    const int next = (rank + 8) % graph.gpu_count();
    const VertexId nic = graph.rail_nics(rank)[0];
    const VertexId next_nic = graph.rail_nics(next)[0];
    hops += graph.route(graph.gpu(rank), nic).size() + graph.route(nic, next_nic).size() +
            graph.route(next_nic, graph.gpu(next)).size();
  }
  // 2 + 2 + 2 within a group of 32 nodes; two hops more where the ring leaves one of the 64.
  CHECK(hops == 2048 * 6 + 64 * 2);
}

}  // namespace shardsim::network

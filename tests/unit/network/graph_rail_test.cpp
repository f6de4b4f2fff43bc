#include <doctest/doctest.h>

#include "topology_fixture.hpp"

namespace shardsim::network {

using testing::build;
using testing::good_spec;
using testing::shipped_spec;

namespace {

std::string names(const Graph& graph, const std::vector<VertexId>& vertices) {
  std::string text;
  for (const VertexId v : vertices) {
    if (!text.empty()) text += ' ';
    text += graph.vertex_name(v);
  }
  return text;
}

std::vector<std::int32_t> rails(const Graph& graph, int rank) {
  std::vector<std::int32_t> indices;
  for (const VertexId nic : graph.rail_nics(rank)) indices.push_back(graph.vertices()[nic].index);
  return indices;
}

}  // namespace

TEST_CASE("the NICs of a GPU come nearest first, ties by index") {
  const Graph graph = build(shipped_spec("dgx-1v"), 2);
  // Rank 10 is GPU 2 of node 1, under switch 1 of CPU 0.
  CHECK(names(graph, graph.nics_of(10)) ==
        "node[1].nic[1] node[1].nic[0] node[1].nic[2] node[1].nic[3]");
}

TEST_CASE("large nodes that share NVLink switches deal their NICs out as others do") {
  TopologySpec spec = shipped_spec("dgx-h100");
  spec.node.gpus = 96;
  const Graph apart = build(spec, 2);
  spec.node.nvlink->nodes_per_domain = 2;
  Graph joined = build(spec, 2);
  for (int rank = 0; rank < apart.gpu_count(); ++rank) {
    CAPTURE(rank);
    REQUIRE(rails(joined, rank) == rails(apart, rank));
  }
  // Those who shared a NIC that did not come up share the other one of their switch.
  joined.set_down(testing::at(joined, "node[1].nic[0]"));
  for (int rank = 0; rank < joined.gpu_count(); ++rank) {
    for (const VertexId nic : joined.rail_nics(rank)) CHECK_FALSE(joined.is_down(nic));
  }
  CHECK(rails(joined, 0) == rails(apart, 0));
}

TEST_CASE("with as many NICs as GPUs each GPU has its own rail") {
  for (const char* name : {"dgx-a100", "dgx-h100", "azure-nd-a100-v4", "gb200-nvl72"}) {
    const Graph graph = build(shipped_spec(name), 2);
    for (int rank = 0; rank < graph.gpu_count(); ++rank) {
      INFO(name << " rank " << rank);
      CHECK(rails(graph, rank) == std::vector<std::int32_t>{graph.local_index(rank)});
      CHECK(graph.vertices()[graph.rail_nics(rank)[0]].node == graph.node_of(rank));
    }
  }
}

TEST_CASE("with more NICs than GPUs a GPU has several, with fewer it shares one") {
  const Graph p5 = build(shipped_spec("aws-p5"), 1);
  CHECK(rails(p5, 0) == std::vector<std::int32_t>{0, 1, 2, 3});
  CHECK(rails(p5, 7) == std::vector<std::int32_t>{28, 29, 30, 31});
  const Graph p4d = build(shipped_spec("aws-p4d"), 1);
  CHECK(rails(p4d, 0) == std::vector<std::int32_t>{0});
  CHECK(rails(p4d, 1) == std::vector<std::int32_t>{0});
  CHECK(rails(p4d, 6) == std::vector<std::int32_t>{3});
  const Graph box = build(shipped_spec("pcie-8xl40s"), 1);
  CHECK(rails(box, 3) == std::vector<std::int32_t>{0});
  CHECK(rails(box, 4) == std::vector<std::int32_t>{1});
}

TEST_CASE("fewer NICs than GPUs on one switch are dealt out to neighbours") {
  TopologySpec spec = shipped_spec("pcie-8xl40s");
  spec.node.nics->count = 4;  // two beside each four GPUs
  const Graph graph = build(spec, 1);
  for (int rank = 0; rank < 8; ++rank) CHECK(rails(graph, rank) == std::vector{rank / 2});
}

TEST_CASE("a GPU that is alone takes the rails of its absent neighbours") {
  const Graph graph = build(shipped_spec("dgx-a100"), 2, 1);
  CHECK(graph.gpu_count() == 2);
  CHECK(rails(graph, 1) == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("every NIC is dealt out exactly once where NICs are as many as GPUs or more") {
  for (const char* name : {"dgx-a100", "dgx-b200", "aws-p5", "oci-a100-40gb"}) {
    const Graph graph = build(shipped_spec(name), 1);
    std::vector<VertexId> dealt;
    for (int rank = 0; rank < graph.gpu_count(); ++rank) {
      for (const VertexId nic : graph.rail_nics(rank)) dealt.push_back(nic);
    }
    std::ranges::sort(dealt);
    std::vector<VertexId> all = graph.nics_of(0);
    std::ranges::sort(all);
    CHECK(dealt == all);
  }
}

TEST_CASE("NICs behind another socket are found, last") {
  const TopologySpec spec = good_spec(R"(
name: one-nic
gpu: any
node:
  gpus: 4
  cpus: {count: 2, vendor: amd, interconnect: {bandwidth: 16 GB/s}}
  pcie:
    switches: 2
    link: {bandwidth: 32 GB/s}
    nics_at: ["cpu[1]"]
  nics: {count: 1, link: {bandwidth: 100 Gbit/s}}
fabric: {kind: single_switch}
)");
  const Graph graph = build(spec, 2);
  CHECK(testing::way(graph, "node[0].gpu[0]", "node[0].nic[0]") ==
        "node[0].pcie_switch[0] node[0].cpu[0] node[0].cpu[1] node[0].nic[0]");
  for (int rank = 0; rank < 8; ++rank) {
    CHECK(graph.nics_of(rank).size() == 1);
    CHECK(graph.rail_nics(rank).size() == 1);
  }
}

}  // namespace shardsim::network

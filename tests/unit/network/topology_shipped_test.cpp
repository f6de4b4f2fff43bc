// Every topology in the repository: it loads, builds, is connected, and says what its makers say.
#include <map>

#include <doctest/doctest.h>

#include "topology_fixture.hpp"

namespace shardsim::network {

using testing::build;
using testing::gbytes_per_s;
using testing::shipped;
using testing::shipped_spec;

TEST_CASE("the shipped topologies are there") {
  const std::vector<std::string> names = available_topologies(shipped());
  for (const char* name :
       {"dgx-a100-40gb", "dgx-a100", "dgx-a100-80gb", "dgx-h100", "dgx-h200", "dgx-b200",
        "gb200-nvl72", "aws-p4d", "aws-p4de", "aws-p5", "azure-nd-a100-v4", "azure-nd-h100-v5",
        "pcie-8xl40s", "one-gpu-per-node-100g", "dgx-1v", "oci-a100-40gb", "oci-a100-80gb"}) {
    INFO(name);
    CHECK(std::ranges::count(names, name) == 1);
  }
}

TEST_CASE("every shipped topology builds for 1, 2 and 4 nodes, connected, its GPUs described") {
  for (const std::string& name : available_topologies(shipped())) {
    const TopologySpec spec = shipped_spec(name);
    INFO(name);
    CHECK(spec.name == name);
    CHECK(std::filesystem::exists(shipped()[0] / "gpus" / (spec.gpu + ".yaml")));
    const auto& torus = spec.fabric.torus;
    const int whole = torus ? static_cast<int>(torus_size(*torus)) : 0;
    for (const int nodes : torus ? std::vector{whole} : std::vector{1, 2, 4}) {
      const Graph graph = build(spec, nodes);
      CHECK_FALSE(graph.disconnected_pair());
      CHECK(graph.gpu_count() == nodes * spec.node.gpus);
      CHECK(graph.node_count() == nodes);
      for (int rank = 1; rank < graph.gpu_count(); ++rank) {
        CHECK(graph.reachable(graph.gpu(0), graph.gpu(rank)));
      }
      for (const Link& link : graph.links()) {
        CHECK(link.bandwidth.bytes_per_second > 1e9);
        CHECK(link.latency > simcore::SimTime{});
        CHECK(link.latency < simcore::SimTime::microseconds(100));
        CHECK(graph.find_link(link.to, link.from).has_value());
      }
    }
  }
}

TEST_CASE("nodes have the host memory that their makers say, and none where nobody does") {
  const auto gib = [](const char* name) -> std::int64_t {
    const auto memory = shipped_spec(name).node.host_memory();
    return memory ? memory->count >> 30 : 0;
  };
  CHECK(gib("dgx-h100") == 2048);
  CHECK(gib("dgx-h200") == 2048);
  CHECK(gib("h100-fat-tree-4to1") == 2048);  // of the nodes that it extends
  CHECK(gib("dgx-a100-80gb") == 2048);
  CHECK(gib("dgx-a100-40gb") == 1024);
  CHECK(gib("dgx-2") == 1536);
  CHECK(gib("aws-p4de") == 1152);
  CHECK(gib("azure-nd-a100-v4") == 900);
  CHECK(gib("gb200-nvl72") == 894);  // 960 GB
  CHECK(gib("hgx-h100-80gb-800g") == 0);
  CHECK(gib("pcie-8xl40s") == 0);
  for (const std::string& name : available_topologies(shipped())) {
    INFO(name);
    const std::int64_t memory = gib(name.c_str());
    CHECK((memory == 0 || (memory >= 256 && memory <= 4096)));
  }
}

TEST_CASE("every NIC can be fed over PCIe") {
  for (const std::string& name : available_topologies(shipped())) {
    const TopologySpec spec = shipped_spec(name);
    const Graph graph = build(spec, spec.fabric.torus ? torus_size(*spec.fabric.torus) : 1);
    for (VertexId v = 0; v < graph.vertices().size(); ++v) {
      if (graph.vertices()[v].kind != DeviceKind::nic) continue;
      double pcie = 0;
      double network = 0;
      for (const LinkId l : graph.links_from(v)) {
        const Link& link = graph.links()[l];
        (link.kind == LinkKind::pcie ? pcie : network) += link.bandwidth.bytes_per_second;
      }
      INFO(name << " " << graph.vertex_name(v));
      CHECK(network > 0);
      CHECK(pcie >= network);
    }
  }
}

TEST_CASE("nominal rates are those of the datasheets") {
  const std::map<std::string, double> nvlink{{"dgx-a100", 300},    {"dgx-h100", 450},
                                             {"dgx-h200", 450},    {"dgx-b200", 900},
                                             {"gb200-nvl72", 900}, {"dgx-1v", 150}};
  for (const auto& [name, gbytes] : nvlink) {
    const NvlinkSpec link = *shipped_spec(name).node.nvlink;
    INFO(name);
    CHECK(static_cast<double>(link.links_per_gpu) * link.link.bandwidth.bytes_per_second ==
          doctest::Approx(gbytes * 1e9));
  }
  const std::map<std::string, double> network{
      {"dgx-a100", 1600},         {"dgx-h100", 3200},
      {"dgx-b200", 3200},         {"aws-p4d", 400},
      {"aws-p5", 3200},           {"gb200-nvl72", 1600},
      {"azure-nd-h100-v5", 3200}, {"dgx-1v", 400},
      {"oci-a100-40gb", 1600},    {"one-gpu-per-node-100g", 100}};
  for (const auto& [name, gbits] : network) {
    const NicSpec nics = *shipped_spec(name).node.nics;
    INFO(name);
    CHECK(static_cast<double>(nics.count) * nics.link.bandwidth.bits_per_second() ==
          doctest::Approx(gbits * 1e9));
  }
}

TEST_CASE("a file may extend another and change single keys") {
  const TopologySpec h100 = shipped_spec("dgx-h100");
  const TopologySpec b200 = shipped_spec("dgx-b200");
  CHECK(b200.gpu == "b200-sxm-180gb");
  CHECK(b200.node.nvlink->link.bandwidth.bytes_per_second == 50e9);
  CHECK(b200.node.nvlink->link.latency == h100.node.nvlink->link.latency);
  CHECK(b200.node.nics->count == h100.node.nics->count);
  CHECK(b200.fabric.nodes_per_leaf == 32);
  CHECK(shipped_spec("dgx-a100-80gb").gpu == shipped_spec("dgx-a100").gpu);
  CHECK(shipped_spec("dgx-a100-40gb").gpu == "a100-sxm4-40gb");
}

TEST_CASE("the hybrid cube mesh of the DGX-1: six links a GPU, four peers") {
  const Graph graph = build(shipped_spec("dgx-1v"), 1);
  for (int rank = 0; rank < 8; ++rank) {
    double sum = 0;
    int peers = 0;
    for (const LinkId l : graph.links_from(graph.gpu(rank))) {
      if (graph.links()[l].kind != LinkKind::nvlink) continue;
      sum += graph.links()[l].bandwidth.bytes_per_second;
      ++peers;
    }
    CHECK(peers == 4);
    CHECK(sum == doctest::Approx(6 * 25e9 * 0.82));
  }
  CHECK(gbytes_per_s(graph, "node[0].gpu[0]", "node[0].gpu[3]") == doctest::Approx(41));
  CHECK(gbytes_per_s(graph, "node[0].gpu[0]", "node[0].gpu[1]") == doctest::Approx(20.5));
}

TEST_CASE("links carry what published ring collectives reach, and what copies take besides") {
  // Bus bandwidths in GB/s; README.md of the topologies names the sources.
  const auto check = [](double link, std::initializer_list<double> measured) {
    for (const double reached : measured) {
      CHECK(link >= reached);
      CHECK(link <= reached * 1.12);
    }
  };
  const Graph a100 = build(shipped_spec("dgx-a100"), 2);
  check(gbytes_per_s(a100, "node[0].gpu[0]", "node[0].nvswitch[0]"), {223.39, 231.52, 235.26});
  check(8 * gbytes_per_s(a100, "node[0].nic[0]", "leaf[0]"), {188.53, 191.05});
  check(gbytes_per_s(build(shipped_spec("dgx-h100"), 1), "node[0].gpu[0]", "node[0].nvswitch[0]"),
        {343.53, 343.92, 350.34, 350.89, 366.18, 366.31});
  check(gbytes_per_s(build(shipped_spec("gb200-nvl72"), 1), "node[0].gpu[0]", "nvswitch[0]"),
        {662.27});
}

}  // namespace shardsim::network

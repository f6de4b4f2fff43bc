// The generated fabrics against closed forms: switches, bisection bandwidth, diameter.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/network/bisection.hpp"
#include "models/network/colour_refinement.hpp"
#include "models/network/topology_warnings.hpp"
#include "topology_fixture.hpp"

namespace shardsim::network {

using testing::build;
using testing::good_spec;
using testing::shipped_spec;

namespace {

// A node of two GPUs and two NICs of 10 GB/s; PCIe and NVLink never limit.
constexpr const char* node = R"(
name: test
gpu: any
node:
  gpus: 2
  nvlink: {links_per_gpu: 1, link: {bandwidth: 900 GB/s}}
  cpus: {vendor: intel}
  pcie: {link: {bandwidth: 900 GB/s}}
  nics: {count: 2, link: {bandwidth: 10 GB/s}}
)";

TopologySpec with_fabric(const std::string& fabric) {
  return good_spec(std::string(node) + "fabric: " + fabric);
}

double bisection_gbytes(const Graph& graph) {
  return bisection_bandwidth(graph).bytes_per_second / 1e9;
}

std::size_t switches(const Graph& graph, int tier) {
  std::size_t count = 0;
  for (const Vertex& vertex : graph.vertices()) {
    if (vertex.kind == DeviceKind::network_switch && vertex.tier == tier) ++count;
  }
  return count;
}

}  // namespace

TEST_CASE("a two-level fat-tree: half of the NICs' bandwidth over the oversubscription") {
  for (const int over : {1, 2, 4}) {
    for (const int spines : {1, 4}) {
      const Graph graph = build(with_fabric(fmt::format("{{kind: fat_tree, nodes_per_leaf: 2, "
                                                        "oversubscription: {}, spines: {}}}",
                                                        over, spines)),
                                8);
      CHECK(switches(graph, 0) == 4);
      CHECK(switches(graph, 1) == static_cast<std::size_t>(spines));
      CHECK(bisection_gbytes(graph) == doctest::Approx(4 * 2 * 10.0 / over));
      CHECK(network_diameter(graph) == 4);
    }
  }
}

TEST_CASE("a three-level fat-tree: both oversubscriptions count between pods") {
  const Graph graph = build(with_fabric("{kind: fat_tree, nodes_per_leaf: 2, oversubscription: 2, "
                                        "spines: 2, pods: {nodes: 4, oversubscription: 4, "
                                        "cores: 3}}"),
                            16);
  CHECK(switches(graph, 0) == 8);
  CHECK(switches(graph, 1) == 4 * 2);
  CHECK(switches(graph, 2) == 3);
  CHECK(bisection_gbytes(graph) == doctest::Approx(8 * 2 * 10.0 / 8));
  CHECK(network_diameter(graph) == 6);
}

TEST_CASE("rails: each a leaf of its own, joined by spines, or by spines of their own, or not") {
  const std::string sizes = "nodes_per_leaf: 4, oversubscription: 2, spines: ";
  const Graph joined = build(with_fabric("{kind: rail_optimised, " + sizes + "3}"), 8);
  CHECK(switches(joined, 0) == 4);
  CHECK(switches(joined, 1) == 3);
  CHECK(bisection_gbytes(joined) == doctest::Approx(4 * 2 * 10.0 / 2));
  CHECK(network_diameter(joined) == 4);

  const Graph apart = build(with_fabric("{kind: rail_only, " + sizes + "3}"), 8);
  CHECK(switches(apart, 0) == 4);
  CHECK(switches(apart, 1) == 2 * 3);
  CHECK(bisection_gbytes(apart) == doctest::Approx(4 * 2 * 10.0 / 2));
  CHECK_FALSE(network_diameter(apart));  // rails never meet
  CHECK(testing::way(apart, "node[0].nic[1]", "node[4].nic[1]") ==
        "leaf[1] spine[3] leaf[3] node[4].nic[1]");

  const Graph bare = build(with_fabric("{kind: rail_optimised, nodes_per_leaf: 4, spines: 0}"), 4);
  CHECK(switches(bare, 0) == 2);
  CHECK(switches(bare, 1) == 0);
  CHECK(bisection_gbytes(bare) == doctest::Approx(2 * 2 * 10.0));
}

TEST_CASE("a dragonfly+: pods joined pair by pair") {
  const TopologySpec spec = with_fabric(
      "{kind: dragonfly_plus, nodes_per_leaf: 1, spines: 2, pods: {nodes: 2, oversubscription: "
      "2}}");
  const Graph graph = build(spec, 12);  // six pods
  CHECK(switches(graph, 0) == 12);
  CHECK(switches(graph, 1) == 6 * 2);
  CHECK(switches(graph, 2) == 0);
  // A pod sends 40 / 2 GB/s to five others; three pods face three.
  CHECK(bisection_gbytes(graph) == doctest::Approx(3 * 3 * 20.0 / 5).epsilon(1e-3));
  CHECK(network_diameter(graph) == 5);
  CHECK(testing::way(graph, "node[0].nic[0]", "node[11].nic[0]") ==
        "leaf[0] spine[0] spine[10] leaf[11] node[11].nic[0]");
}

TEST_CASE("a torus: two cuts through its longest direction, half around each direction") {
  const auto torus = [](const std::string& dimensions) {
    return with_fabric("{kind: torus, torus: {dimensions: " + dimensions +
                       ", link: {bandwidth: 1 GB/s}}}");
  };
  const Graph flat = build(torus("[3, 4]"), 12);
  CHECK(switches(flat, 0) == 12);
  CHECK(bisection_gbytes(flat) == doctest::Approx(2 * 3 * 1.0));
  CHECK(network_diameter(flat) == 2 + 1 + 2);
  const Graph deep = build(torus("[2, 3, 4]"), 24);
  CHECK(bisection_gbytes(deep) == doctest::Approx(2 * 6 * 1.0));
  CHECK(network_diameter(deep) == 2 + 1 + 1 + 2);
  // Each switch has its two NICs and two neighbours per direction, one where only two nodes are.
  CHECK(deep.links_from(testing::at(deep, "leaf[0]")).size() == 2 + 1 + 2 + 2);
  const Graph pair = build(torus("[2, 2]"), 4);
  CHECK(bisection_gbytes(pair) == doctest::Approx(2 * 1.0));
}

TEST_CASE("a torus takes its own number of nodes, and rails without spines one group") {
  simcore::Diagnostics diagnostics;
  CHECK_FALSE(build_graph(with_fabric("{kind: torus, torus: {dimensions: [2, 3], link: {bandwidth: "
                                      "1 GB/s}}}"),
                          {5, std::nullopt, {}, {}}, diagnostics));
  CHECK(simcore::to_text(diagnostics).find("a torus of 6 nodes, found 5") != std::string::npos);
  simcore::Diagnostics others;
  CHECK_FALSE(build_graph(with_fabric("{kind: rail_optimised, nodes_per_leaf: 4, spines: 0}"),
                          {5, std::nullopt, {}, {}}, others));
  CHECK(simcore::to_text(others).find("no spines") != std::string::npos);
}

TEST_CASE("an NVLink domain of many nodes: half of its GPUs' NVLink") {
  const Graph rack = build(shipped_spec("gb200-nvl72"), 18);
  CHECK(bisection_gbytes(rack) == doctest::Approx(36 * 18 * 50 * 0.77 + 36 * 48).epsilon(1e-3));
  const Graph racks = build(shipped_spec("gb200-nvl576"), 144);
  CHECK(racks.gpu_count() == 576);
  CHECK(bisection_gbytes(racks) >= 288 * 18 * 50 * 0.73);
  CHECK(testing::way(racks, "node[0].gpu[0]", "node[143].gpu[3]") ==
        "nvswitch[0] node[143].gpu[3]");
  const Graph two = build(shipped_spec("gb200-nvl72"), 36);
  CHECK(bisection_gbytes(two) == doctest::Approx(72 * 48).epsilon(1e-3));  // NICs only
}

TEST_CASE("a PCIe box: what passes between its CPUs") {
  const Graph box = build(shipped_spec("pcie-4xl40s"), 1);
  CHECK(bisection_gbytes(box) == doctest::Approx(16));
  CHECK(topology_warnings(box).empty());
}

TEST_CASE("nodes that differ keep what they do not change, and only they change") {
  const Graph graph = build(shipped_spec("h100-mixed-nics"), 8);
  CHECK(testing::gbytes_per_s(graph, "node[3].nic[0]", "leaf[0]") == doctest::Approx(48));
  CHECK(testing::gbytes_per_s(graph, "node[4].nic[0]", "leaf[0]") == doctest::Approx(24));
  CHECK(testing::gbytes_per_s(graph, "node[4].gpu[0]", "node[4].nvswitch[0]") ==
        doctest::Approx(382.5));
  CHECK(bisection_gbytes(graph) == doctest::Approx(4 * 8 * 24.0).epsilon(1e-4));
}

TEST_CASE("nodes that cannot stand beside the others are refused") {
  const auto errors = [](const std::string& other) {
    simcore::Diagnostics diagnostics;
    testing::read_spec(std::string(node) + "fabric: {kind: single_switch}\nother_nodes: " + other,
                       diagnostics);
    return simcore::to_text(diagnostics);
  };
  const std::string base =
      "node: {gpus: 2, cpus: {vendor: intel}, pcie: {link: {bandwidth: 9 GB/s}}}";
  CHECK(errors("[{first: 3, last: 2, " + base + "}]").find("'last'") != std::string::npos);
  CHECK(errors("[{first: 1, last: 2, " + base + "}, {first: 2, last: 2, " + base + "}]")
            .find("other_nodes[0] too") != std::string::npos);
  CHECK(errors("[{first: 1, last: 2, node: {gpus: 4}}]").find("expected 2 as in 'node'") !=
        std::string::npos);
}

TEST_CASE("alike devices have one colour; the bisection by colours is that by devices") {
  const Graph graph = build(with_fabric("{kind: fat_tree, nodes_per_leaf: 2, oversubscription: 2, "
                                        "spines: 2}"),
                            8);
  const Colouring alike = refine_colours(graph);
  CHECK(alike.colours == 6);  // GPU, NVSwitch, CPU, NIC, leaf, spine - and no more
  CHECK(bisection_gbytes(graph) == doctest::Approx(testing::bisection(graph, 4) / 1e9));
  const Graph odd = build(shipped_spec("h100-mixed-nics"), 6);
  CHECK(refine_colours(odd).colours > refine_colours(build(shipped_spec("dgx-h100"), 6)).colours);
}

TEST_CASE("links up that are slower than a NIC's port are named, where a flow takes one of them") {
  const auto warned = [](const std::string& fabric, std::int64_t nodes) {
    return uplink_warnings(build(with_fabric(fabric), nodes));
  };
  // A leaf of one node with two NICs: 20 GB/s up.
  const std::string tree = "{kind: fat_tree, nodes_per_leaf: 1, spines: ";
  CHECK(warned(tree + "2}", 4).empty());
  const auto thin = warned(tree + "8}", 4);
  REQUIRE(thin.size() == 1);
  CHECK(thin[0].find("leaf[0] has links up of 2.5 GB/s each, and a NIC sends 10:") == 0);
  CHECK(warned(tree + "8, routing: {policy: ecmp}}", 4).size() == 1);
  CHECK(warned(tree + "8, routing: {policy: spray}}", 4).empty());
  // One spine stands for all with ideal spreading.
  CHECK(warned(tree + "1, oversubscription: 8}", 4).empty());
  CHECK(warned(tree + "2, oversubscription: 2}", 4).size() == 1);
  // Leaves are wide enough here, spines are not.
  const auto cores = warned(tree + "2, pods: {nodes: 2, cores: 8}}", 4);
  REQUIRE(cores.size() == 1);
  CHECK(cores[0].find("spine[0] has links up of 2.5 GB/s each") == 0);
  const std::string pods = "{kind: dragonfly_plus, nodes_per_leaf: 1, spines: 2, pods: {nodes: 2}}";
  CHECK(warned(pods, 6).empty());
  CHECK(warned(pods, 10).size() == 1);
  CHECK(warned("{kind: rail_only, nodes_per_leaf: 2, spines: 4}", 4).size() == 1);
  CHECK(warned("{kind: single_switch}", 4).empty());
}

TEST_CASE("what is seldom meant is said once") {
  TopologySpec spec = shipped_spec("dgx-h100");
  spec.node.nics->count = 7;
  spec.node.pcie->nic_link = CableSpec{.bandwidth = {16e9}};
  const auto warnings = topology_warnings(build(spec, 16));
  REQUIRE(warnings.size() >= 2);
  CHECK(warnings[0].find("PCIe feeds it 16.0") != std::string::npos);
  CHECK(warnings.back() == "node[0]: 8 GPUs share 7 NICs unevenly");
}

}  // namespace shardsim::network

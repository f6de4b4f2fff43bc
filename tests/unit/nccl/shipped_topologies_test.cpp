// Rings on the topologies that come with the program.
#include <algorithm>
#include <filesystem>
#include <utility>

#include <doctest/doctest.h>

#include "models/network/topology_builder.hpp"
#include "models/network/topology_library.hpp"
#include "tests/unit/nccl/nccl_fixture.hpp"

namespace shardsim::nccl {

namespace {

const std::filesystem::path folder = std::filesystem::path(SHARDSIM_SOURCE_DIR) / "topologies";

network::Graph build(const std::string& name, std::int64_t nodes) {
  simcore::Diagnostics diagnostics;
  const auto topology = network::load_topology(name, {folder}, diagnostics);
  REQUIRE_MESSAGE(topology.has_value(), simcore::to_text(diagnostics));
  auto graph = network::build_graph(
      topology->spec, {nodes, std::nullopt, simcore::SourceLocation{}, simcore::SourceLocation{}},
      diagnostics);
  REQUIRE_MESSAGE(graph.has_value(), simcore::to_text(diagnostics));
  return std::move(*graph);
}

/// Numbers of nodes to try: a torus is of one size, and a fabric may have a largest.
std::vector<std::int64_t> sizes_of(const std::string& name) {
  simcore::Diagnostics diagnostics;
  const auto topology = network::load_topology(name, {folder}, diagnostics);
  REQUIRE_MESSAGE(topology.has_value(), simcore::to_text(diagnostics));
  const auto& torus = topology->spec.fabric.torus;
  if (torus) return {network::torus_size(*torus)};
  std::vector<std::int64_t> sizes;
  for (const std::int64_t nodes : {1, 2, 5}) {
    simcore::Diagnostics refused;
    const network::ClusterSize size{nodes, std::nullopt, simcore::SourceLocation{},
                                    simcore::SourceLocation{}};
    if (network::build_graph(topology->spec, size, refused)) sizes.push_back(nodes);
  }
  REQUIRE(sizes.size() >= 2);  // one NVLink domain may be all there is
  return sizes;
}

CommunicatorPlan world_of(const network::Graph& graph) {
  auto plan = CommunicatorPlan::make(graph, one_group(ranks_below(graph.gpu_count())));
  REQUIRE(plan.has_value());
  return std::move(*plan);
}

}  // namespace

TEST_CASE("every shipped topology has rings on one to five nodes") {
  for (const std::string& name : network::available_topologies({folder})) {
    for (const std::int64_t nodes : sizes_of(name)) {
      CAPTURE(name);
      CAPTURE(nodes);
      const network::Graph graph = build(name, nodes);
      const CommunicatorPlan plan = world_of(graph);
      CHECK(plan.ranks() == graph.gpu_count());
      if (plan.ranks() > 1) CHECK(plan.ring().rate.bytes_per_second > 1e9);
      for (const Ring& ring : plan.ring_plan().rings) {
        CHECK(ring.order.size() == static_cast<std::size_t>(plan.ranks()));
      }
    }
  }
}

TEST_CASE("nodes built alike load their links as if each had been looked at by itself") {
  for (const std::string& name : network::available_topologies({folder})) {
    if (name.contains("torus")) continue;  // of a size of its own
    network::Graph graph = build(name, 3);
    if (graph.shape_of_node(0) < 0) continue;
    simcore::Diagnostics diagnostics;
    CommunicatorPlan known = world_of(graph);
    const auto known_pairs = known.traffic(Pattern::all_pairs);
    REQUIRE(known_pairs.has_value());
    const auto spec = network::load_topology(name, {folder}, diagnostics)->spec;
    REQUIRE(graph.set_routing(spec.fabric.routing).has_value());  // forgets who is alike
    CommunicatorPlan searched = world_of(graph);
    const auto pairs = searched.traffic(Pattern::all_pairs);
    REQUIRE(pairs.has_value());
    for (const auto& [a, b] :
         {std::pair{&known.ring(), &searched.ring()}, {*known_pairs, *pairs}}) {
      CAPTURE(name);
      CHECK(a->rate == b->rate);
      CHECK(a->inside.mean == b->inside.mean);
      CHECK(a->between.mean == b->between.mean);
      CHECK(a->inside_by_nvlink == b->inside_by_nvlink);
      CHECK(a->network_by_cpu == b->network_by_cpu);
      CHECK(std::ranges::equal(a->uses, b->uses, [](const auto& x, const auto& y) {
        return x.link == y.link && x.weight == y.weight;
      }));
    }
  }
}

TEST_CASE("on DGX H100 a ring is as fast as NVLink in a node and as its eight NICs between nodes") {
  const network::Graph one = build("dgx-h100", 1);
  const auto nvlink = one.find_link(one.gpu(0), *one.find_vertex("node[0].nvswitch[0]"));
  REQUIRE(nvlink.has_value());
  CHECK(world_of(one).ring().rate == one.links()[*nvlink].bandwidth);
  CHECK(world_of(one).on_nvswitch());

  const network::Graph four = build("dgx-h100", 4);
  const auto nic =
      four.find_link(*four.find_vertex("node[0].nic[0]"), *four.find_vertex("leaf[0]"));
  REQUIRE(nic.has_value());
  const CommunicatorPlan plan = world_of(four);
  CHECK(plan.ring_plan().rings.size() == 8);
  CHECK(plan.ring().rate.bytes_per_second ==
        doctest::Approx(8 * four.links()[*nic].bandwidth.bytes_per_second));
  CHECK_FALSE(plan.on_nvswitch());
}

TEST_CASE("a rack of GB200 behind one NVLink switch is one node") {
  const network::Graph graph = build("gb200-nvl72", 18);
  CHECK(world_of(graph).nodes() == 1);
  CHECK(world_of(graph).ranks() == 72);
}

}  // namespace shardsim::nccl

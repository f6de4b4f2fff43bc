#include <doctest/doctest.h>

#include "models/network/routing_spec.hpp"
#include "topology_fixture.hpp"

namespace shardsim::network {

using testing::at;
using testing::build;
using testing::shipped_spec;

TEST_CASE("nodes built alike have one shape, whatever their bandwidths") {
  const Graph alike = build(shipped_spec("dgx-h100"), 4);
  for (int node = 0; node < 4; ++node) CHECK(alike.shape_of_node(node) == 0);
  CHECK(alike.shape_of_node(-1) < 0);

  // Four of these have slower NICs, which no way depends on.
  const Graph mixed = build(shipped_spec("h100-mixed-nics"), 8);
  CHECK(mixed.shape_of_node(7) == mixed.shape_of_node(0));
}

TEST_CASE("nodes that share an NVLink switch with others have no shape") {
  const Graph graph = build(shipped_spec("gb200-nvl72"), 2);
  CHECK(graph.shape_of_node(0) < 0);
}

TEST_CASE("a link of another place gives a node another shape, and undoes what was found") {
  Graph graph = build(shipped_spec("dgx-h100"), 3);
  Link link = graph.links()[0];
  link.from = at(graph, "node[1].gpu[0]");
  link.to = at(graph, "node[1].nic[7]");
  link.kind = LinkKind::pcie;
  graph.add_link(link);
  CHECK(graph.shape_of_node(0) < 0);
  graph.find_node_shapes();
  CHECK(graph.shape_of_node(0) == graph.shape_of_node(2));
  CHECK(graph.shape_of_node(0) != graph.shape_of_node(1));
}

TEST_CASE("NICs are dealt out alike whether or not shapes are known") {
  for (const std::string& name : available_topologies(testing::shipped())) {
    const TopologySpec spec = shipped_spec(name);
    if (spec.fabric.torus) continue;  // of a size of its own
    Graph graph = build(spec, 1);
    std::vector<std::vector<VertexId>> rails;
    for (int rank = 0; rank < graph.gpu_count(); ++rank) rails.push_back(graph.rail_nics(rank));
    REQUIRE(graph.set_routing(RoutingSpec{}).has_value());
    CHECK(graph.shape_of_node(0) < 0);
    for (int rank = 0; rank < graph.gpu_count(); ++rank) {
      INFO(name << " rank " << rank);
      CHECK(graph.rail_nics(rank) == rails[static_cast<std::size_t>(rank)]);
    }
  }
}

}  // namespace shardsim::network

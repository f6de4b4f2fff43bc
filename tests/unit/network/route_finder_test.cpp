// The route finder against the search, pair by pair.
#include "models/network/route_finder.hpp"

#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "topology_fixture.hpp"

namespace shardsim::network {

namespace {

/// Whether all pairs of devices that are not switches of the fabric have the ways of the search.
bool same_ways(const Graph& graph, const RouteRequest& request, std::size_t stride) {
  RouteFinder finder(graph);
  const auto vertices = static_cast<VertexId>(graph.vertices().size());
  std::size_t turn = 0;
  for (VertexId from = 0; from < vertices; ++from) {
    for (VertexId to = 0; to < vertices; ++to) {
      if (graph.vertices()[from].node < 0 || graph.vertices()[to].node < 0) continue;
      if (turn++ % stride != 0) continue;
      const std::vector<LinkUse> expected = graph.ways(from, to, request);
      const bool same = std::ranges::equal(finder.ways(from, to, request), expected,
                                           [](const LinkUse& a, const LinkUse& b) {
                                             return a.link == b.link && a.weight == b.weight;
                                           });
      if (!same) {
        MESSAGE(graph.vertex_name(from), " to ", graph.vertex_name(to));
        return false;
      }
    }
  }
  return true;
}

/// Nodes with a few NICs, some of them joined directly, each NIC on one switch or on two, behind
/// switches joined at random: where a way through a node may be as short as one around it.
Graph random_cluster(std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto draw = [&random](int below) { return static_cast<int>(random() % below); };
  Graph graph;
  std::vector<VertexId> switches;
  const auto join = [&](VertexId a, VertexId b, LinkKind kind) {
    if (graph.find_link(a, b)) return;
    graph.add_link({a, b, kind, simcore::BitRate{1e9}, simcore::SimTime::nanoseconds(100)});
    graph.add_link({b, a, kind, simcore::BitRate{1e9}, simcore::SimTime::nanoseconds(100)});
  };
  for (int i = 0; i < 7; ++i) {
    switches.push_back(graph.add_vertex({DeviceKind::network_switch, -1, i, 0}));
    if (i > 0)
      join(switches.back(), switches[static_cast<std::size_t>(draw(i))], LinkKind::network);
  }
  for (int more = draw(6); more > 0; --more) {
    const int a = draw(7);
    const int b = draw(7);
    if (a == b) continue;
    join(switches[static_cast<std::size_t>(a)], switches[static_cast<std::size_t>(b)],
         LinkKind::network);
  }
  const int most_switches = 1 + draw(2);
  const bool joined = draw(2) == 0;
  std::vector<VertexId> all;
  for (int node = 0; node < 5; ++node) {
    const VertexId gpu = graph.add_vertex({DeviceKind::gpu, node, 0, 0});
    const VertexId bridge = graph.add_vertex({DeviceKind::pcie_switch, node, 0, 0});
    join(gpu, bridge, LinkKind::pcie);
    const int nics = 1 + draw(3);
    VertexId before = bridge;
    for (int i = 0; i < nics; ++i) {
      const VertexId nic = graph.add_vertex({DeviceKind::nic, node, i, 0});
      join(nic, bridge, LinkKind::pcie);
      if (joined && i > 0) join(nic, before, LinkKind::pcie);
      before = nic;
      for (int home = draw(most_switches); home >= 0; --home) {
        join(nic, switches[static_cast<std::size_t>(draw(7))], LinkKind::network);
      }
      all.push_back(nic);
    }
  }
  if (draw(3) == 0) join(all.front(), all.back(), LinkKind::network);  // a cable past all switches
  return graph;
}

}  // namespace

TEST_CASE("the ways of shipped clusters are those of the search, under every policy") {
  const std::vector<std::pair<const char*, int>> clusters{{"h100-fat-tree", 40},
                                                          {"h100-fat-tree-3-level", 40},
                                                          {"h100-rail-no-spine", 6},
                                                          {"h100-rail-only", 6},
                                                          {"h100-dragonfly-plus", 40},
                                                          {"h100-torus-2d", 0},
                                                          {"h100-fat-tree-4to1", 20},
                                                          {"h100-mixed-nics", 6},
                                                          {"gb200-nvl72", 4},
                                                          {"one-gpu-per-node-100g", 9},
                                                          {"dgx-h100", 5},
                                                          {"azure-nd-h100-v5", 5}};
  for (const auto& [name, wanted] : clusters) {
    const TopologySpec spec = testing::shipped_spec(name);
    const auto& torus = spec.fabric.torus;
    Graph graph = testing::build(spec, torus ? torus_size(*torus) : wanted);
    for (const RoutingPolicy policy : {RoutingPolicy::target_port, RoutingPolicy::ecmp,
                                       RoutingPolicy::adaptive, RoutingPolicy::spray}) {
      RoutingSpec routing;
      routing.policy = policy;
      routing.seed = 3;
      REQUIRE(graph.set_routing(routing));
      INFO(name, " policy ", static_cast<int>(policy));
      std::vector<double> loads(graph.links().size());
      for (std::size_t i = 0; i < loads.size(); ++i) loads[i] = static_cast<double>(i * 7919 % 13);
      CHECK(same_ways(graph, {.flow = 5, .loads = loads}, 1 + graph.vertices().size() / 9));
    }
  }
}

TEST_CASE("where nodes offer detours the ways are those of the search") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    const Graph graph = random_cluster(seed);
    INFO(seed);
    CHECK(same_ways(graph, {}, 1));
  }
}

TEST_CASE("a dead link is gone around") {
  const Graph graph = testing::build(testing::shipped_spec("h100-fat-tree"), 40);
  LinkOutages outages(graph.links().size());
  for (LinkId link = 0; link < graph.links().size(); link += 97) outages.set(link, true);
  CHECK(same_ways(graph, {.outages = &outages}, 31));
}

}  // namespace shardsim::network

// Routing policies against closed forms.
#include "models/network/routing.hpp"

#include <cmath>
#include <map>
#include <numeric>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/network/flow_network.hpp"
#include "topology_fixture.hpp"

namespace shardsim::network {

namespace {

constexpr int leaf_size = 16;

/// Two leaves of sixteen one-NIC nodes, sixteen spines, 1 GB/s everywhere.
Graph two_leaves(const std::string& routing) {
  return testing::build(testing::good_spec(R"(
name: test
gpu: any
node:
  gpus: 1
  cpus: {vendor: intel}
  pcie: {link: {bandwidth: 9 GB/s}}
  nics: {count: 1, link: {bandwidth: 1 GB/s}}
fabric: {kind: fat_tree, nodes_per_leaf: 16, spines: 16, routing: )" +
                                           routing + "}"),
                        2 * leaf_size);
}

VertexId nic(const Graph& graph, int node) {
  return testing::at(graph, fmt::format("node[{}].nic[0]", node));
}

/// Flows on each uplink of the first leaf when its nodes send each to one node of the other leaf.
std::map<LinkId, double> uplinks(const Graph& graph, std::uint64_t flow = 0) {
  std::map<LinkId, double> flows;
  std::vector<double> loads(graph.links().size(), 0);
  for (int n = 0; n < leaf_size; ++n) {
    const auto way =
        graph.ways(nic(graph, n), nic(graph, leaf_size + n), {.flow = flow, .loads = loads});
    for (const LinkUse& use : way) {
      loads[use.link] += use.weight;
      if (graph.vertices()[graph.links()[use.link].to].tier == 1) flows[use.link] += use.weight;
    }
  }
  return flows;
}

double fullest(const std::map<LinkId, double>& uplinks) {
  double most = 0;
  for (const auto& [link, flows] : uplinks) most = std::max(most, flows);
  return most;
}

}  // namespace

TEST_CASE("hashing collides as throwing sixteen balls into sixteen bins does") {
  double used = 0;
  double most = 0;
  constexpr int seeds = 400;
  for (int seed = 0; seed < seeds; ++seed) {
    const Graph graph = two_leaves(fmt::format("{{policy: ecmp, seed: {}}}", seed));
    const auto flows = uplinks(graph);
    used += static_cast<double>(flows.size()) / seeds;
    most += fullest(flows) / seeds;
  }
  // 16 (1 - (15/16)^16) uplinks are used; the deviation of one seed is about 1.1.
  CHECK(used == doctest::Approx(16 * (1 - std::pow(15.0 / 16, 16))).epsilon(0.02));
  // The fullest of 16 bins holds 3.08 balls on average (exact enumeration).
  CHECK(most == doctest::Approx(3.08).epsilon(0.05));
}

TEST_CASE("a seed fixes the collisions, another seed or flow number gives others") {
  const Graph graph = two_leaves("{policy: ecmp, seed: 3}");
  CHECK(uplinks(graph) == uplinks(two_leaves("{policy: ecmp, seed: 3}")));
  CHECK(uplinks(graph) != uplinks(two_leaves("{policy: ecmp, seed: 4}")));
  CHECK(uplinks(graph) != uplinks(graph, 1));
}

TEST_CASE("spraying loads every uplink alike, so that a permutation runs at line rate") {
  const Graph graph = two_leaves("{policy: spray}");
  const auto flows = uplinks(graph);
  CHECK(flows.size() == 16);
  for (const auto& [link, load] : flows) CHECK(load == doctest::Approx(1));

  simcore::EventQueue queue;
  FlowNetwork network(graph, queue);
  struct Nothing final : FlowListener {
    void flow_finished(FlowId, std::uint64_t) override {}
  } listener;
  std::vector<FlowId> started;
  for (int n = 0; n < leaf_size; ++n) {
    started.push_back(
        network.start(graph.ways(nic(graph, n), nic(graph, leaf_size + n)), 1e9, {}, listener, 0));
  }
  for (const FlowId flow : started) {
    CHECK(network.rate(flow).bytes_per_second == doctest::Approx(1e9));
  }
}

TEST_CASE("a hash's fullest uplink sets the pace of the flows that share it") {
  const Graph graph = two_leaves("{policy: ecmp, seed: 3}");
  simcore::EventQueue queue;
  FlowNetwork network(graph, queue);
  struct Nothing final : FlowListener {
    void flow_finished(FlowId, std::uint64_t) override {}
  } listener;
  double slowest = 1e9;
  std::vector<FlowId> started;
  for (int n = 0; n < leaf_size; ++n) {
    started.push_back(
        network.start(graph.ways(nic(graph, n), nic(graph, leaf_size + n)), 1e9, {}, listener, 0));
  }
  for (const FlowId flow : started) {
    slowest = std::min(slowest, network.rate(flow).bytes_per_second);
  }
  CHECK(slowest <= doctest::Approx(1e9 / fullest(uplinks(graph))));
}

TEST_CASE("adaptive routing takes the emptiest way: sixteen flows find sixteen uplinks") {
  const auto flows = uplinks(two_leaves("{policy: adaptive}"));
  CHECK(flows.size() == 16);
  CHECK(fullest(flows) == 1);
}

TEST_CASE("adaptive routing sees the far half of the way, too") {
  const Graph graph = two_leaves("{policy: adaptive}");
  std::vector<double> loads(graph.links().size(), 0);
  for (int spine = 0; spine < 16; ++spine) {
    if (spine == 11) continue;
    const auto down = graph.find_link(testing::at(graph, fmt::format("spine[{}]", spine)),
                                      testing::at(graph, "leaf[1]"));
    loads[*down] = 1;
  }
  const auto way = graph.ways(nic(graph, 0), nic(graph, 16), {.loads = loads});
  CHECK(graph.vertex_name(graph.links()[way[1].link].to) == "spine[11]");
}

TEST_CASE("a table says the way of the pairs it names, others go by the port") {
  const Graph graph = two_leaves(
      "{policy: table, routes: [{from: \"node[0].nic[0]\", to: \"node[16].nic[0]\", via: "
      "[\"leaf[0]\", \"spine[9]\", \"leaf[1]\"]}]}");
  const auto spine = [&](int from, int to, const LinkOutages* outages = nullptr) {
    const auto way = graph.ways(nic(graph, from), nic(graph, to), {.outages = outages});
    REQUIRE(way.size() == 4);
    return graph.vertices()[graph.links()[way[1].link].to].index;
  };
  CHECK(spine(0, 16) == 9);
  CHECK(spine(1, 16) == 0);
  CHECK(spine(0, 19) == 3);
  LinkOutages outages(graph.links().size());
  outages.set(*graph.find_link(testing::at(graph, "leaf[0]"), testing::at(graph, "spine[9]")),
              true);
  CHECK(spine(0, 16, &outages) == 0);  // not the table's way while that is dead
}

TEST_CASE("a table that names what is not there is refused") {
  const auto error = [](const std::string& via) {
    Graph graph = two_leaves("{policy: spray}");
    RoutingSpec routing{RoutingPolicy::table, 0, {}};
    routing.routes.push_back({"node[0].nic[0]", "node[16].nic[0]", {"leaf[0]", via, "leaf[1]"}});
    const auto set = graph.set_routing(routing);
    return set ? std::string() : set.error().message;
  };
  CHECK(error("spine[99]") == "there is no device 'spine[99]'");
  CHECK(error("leaf[1]") == "no link leads from 'leaf[0]' to 'leaf[1]'");
  CHECK(error("spine[2]").empty());
}

TEST_CASE("in a torus, spraying splits at every switch, and all of it arrives") {
  const Graph graph = testing::build(testing::shipped_spec("h100-torus-3d"), 64);
  const VertexId from = testing::at(graph, "node[0].nic[0]");
  const VertexId to = testing::at(graph, "node[21].nic[0]");  // one step in each direction
  double arrived = 0;
  double steps = 0;
  for (const LinkUse& use : graph.ways(from, to)) {
    steps += use.weight;
    if (graph.links()[use.link].to == to) arrived += use.weight;
  }
  CHECK(arrived == doctest::Approx(1));
  CHECK(steps == doctest::Approx(2 + 3));
  CHECK(graph.distance(from, to) == 5);
}

TEST_CASE("without a policy the way is that of route()") {
  const Graph graph = testing::build(testing::shipped_spec("dgx-h100"), 40);
  for (const char* target : {"node[0].gpu[3]", "node[1].nic[0]", "node[39].nic[7]", "leaf[3]"}) {
    const VertexId from = testing::at(graph, "node[0].nic[0]");
    const VertexId to = testing::at(graph, target);
    const auto route = graph.route(from, to);
    const auto ways = graph.ways(from, to);
    REQUIRE(ways.size() == route.size());
    for (std::size_t i = 0; i < route.size(); ++i) {
      CHECK(ways[i].link == route[i]);
      CHECK(ways[i].weight == 1);
    }
  }
}

}  // namespace shardsim::network

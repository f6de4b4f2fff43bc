// NICs that are down when the run begins: what nodes find without them, and what all agree on.
#include <array>
#include <filesystem>
#include <set>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/nccl/nccl_model.hpp"
#include "models/network/topology_builder.hpp"
#include "models/network/topology_library.hpp"
#include "tests/unit/nccl/nccl_fixture.hpp"

namespace shardsim::nccl {

namespace {

struct LackingCluster {
  network::TopologySpec spec;
  network::Graph graph;
  NcclSetup setup;

  LackingCluster(int nodes, const std::vector<std::string>& down) {
    const auto folder = std::filesystem::path(SHARDSIM_SOURCE_DIR) / "topologies";
    simcore::Diagnostics diagnostics;
    auto loaded = network::load_topology("dgx-h100", {folder}, diagnostics);
    REQUIRE_MESSAGE(loaded.has_value(), simcore::to_text(diagnostics));
    spec = std::move(loaded->spec);
    auto built = network::build_graph(spec, {nodes, std::nullopt, {}, {}}, diagnostics);
    auto read = read_setup("2.27.7", {}, {}, {}, diagnostics);
    REQUIRE_MESSAGE((built && read), simcore::to_text(diagnostics));
    graph = std::move(*built);
    setup = std::move(*read);
    for (const std::string& nic : down) graph.set_down(*graph.find_vertex(nic));
  }

  /// Devices that the pattern's data pass, once NCCL's channels are known.
  std::set<std::string> passed(const Planner& planner, Pattern pattern) const {
    auto plan = CommunicatorPlan::outline(graph, one_group(ranks_below(graph.gpu_count())));
    plan.follow(planner);
    const auto traffic = plan.traffic(pattern);
    REQUIRE(traffic.has_value());
    std::set<std::string> names;
    for (const network::LinkUse& use : (*traffic)->uses) {
      names.insert(graph.vertex_name(graph.links()[use.link].to));
    }
    return names;
  }

  const PlannedCommunicator& plan(const Planner& planner) const {
    const auto domains = find_domains(graph, ranks_below(graph.gpu_count()));
    const auto made = planner.plan(*shape_of(graph, domains));
    REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error()));
    return **made;
  }
};

constexpr std::array patterns{Pattern::ring, Pattern::trees, Pattern::multicast_trees,
                              Pattern::neighbours, Pattern::all_pairs};

}  // namespace

TEST_CASE("data pass no NIC that was down from the start, and most that were up") {
  const LackingCluster cluster(4, {"node[2].nic[0]", "node[3].nic[5]"});
  const Planner planner(cluster.spec, 90, cluster.setup);
  for (const Pattern pattern : patterns) {
    const std::set<std::string> passed = cluster.passed(planner, pattern);
    CAPTURE(static_cast<int>(pattern));
    for (const int node : {0, 2}) {  // as many as the node that has found fewest channels uses
      int nics = 0;
      for (int i = 0; i < 8; ++i) nics += passed.contains(fmt::format("node[{}].nic[{}]", node, i));
      CHECK(nics >= (pattern == Pattern::neighbours ? 1 : 6));  // one neighbour is elsewhere
    }
    CHECK_FALSE(passed.contains("node[2].nic[0]"));
    CHECK_FALSE(passed.contains("node[3].nic[5]"));
  }
}

TEST_CASE("nodes agree on the least that any has found, and keep their own NICs") {
  const LackingCluster whole(4, {});
  const LackingCluster lacking(4, {"node[2].nic[0]"});
  const Planner planner(whole.spec, 90, whole.setup);
  const PlannedCommunicator& all = whole.plan(planner);
  const PlannedCommunicator& least = lacking.plan(planner);
  CHECK(all.by_node.empty());
  REQUIRE(least.by_node.size() == 4);
  CHECK(least.by_node[0] == least.by_node[1]);
  CHECK(least.of_node(2).system->nets.size() + 1 == least.of_node(0).system->nets.size());
  for (const PlannedCommunicator* one : least.by_node) {
    CHECK(least.graphs.ring.channel_count() <= one->graphs.ring.channel_count());
    CHECK(least.graphs.ring.inter_gbytes_per_second <= one->graphs.ring.inter_gbytes_per_second);
    CHECK(least.graphs.ring.type_inter >= one->graphs.ring.type_inter);
  }
  const auto bandwidth = [](const PlannedCommunicator& plan) {
    const ChannelGraph& ring = plan.graphs.ring;
    return static_cast<double>(ring.inter_gbytes_per_second) * ring.channel_count();
  };
  CHECK(bandwidth(least) < bandwidth(all));
}

TEST_CASE("nodes that lack the same NIC are planned as one kind") {
  const LackingCluster cluster(2, {"node[0].nic[3]", "node[1].nic[3]"});
  const Planner planner(cluster.spec, 90, cluster.setup);
  CHECK(cluster.plan(planner).by_node.empty());
  CHECK(cluster.plan(planner).system->nets.size() == 7);
}

TEST_CASE("a node without any NIC that is up has no plan between nodes") {
  std::vector<std::string> down;
  for (int i = 0; i < 8; ++i) down.push_back(fmt::format("node[1].nic[{}]", i));
  const LackingCluster cluster(2, down);
  const Planner planner(cluster.spec, 90, cluster.setup);
  const auto domains = find_domains(cluster.graph, ranks_below(16));
  const auto made = planner.plan(*shape_of(cluster.graph, domains));
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error() == "every NIC of a node is down");
}

}  // namespace shardsim::nccl

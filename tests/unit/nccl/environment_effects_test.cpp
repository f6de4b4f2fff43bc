// NCCL's variables on whole clusters: each changes the plan, the links in use and the time as it
// should. Also what the planner and the model do with clusters that NCCL cannot plan for.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include <doctest/doctest.h>

#include "models/nccl/chunk/message_schedule.hpp"
#include "models/nccl/graph_xml.hpp"
#include "models/nccl/nccl_model.hpp"
#include "models/nccl/topology_xml.hpp"
#include "models/network/topology_builder.hpp"
#include "models/network/topology_library.hpp"
#include "tests/unit/nccl/nccl_fixture.hpp"
#include "tests/unit/nccl/planned_machine.hpp"

namespace shardsim::nccl {

namespace {

using cuda::CollectiveKind;
using Variables = std::map<std::string, std::string>;

/// All GPUs of some nodes of a shipped topology, with NCCL set up on them.
class SetUpCluster {
 public:
  SetUpCluster(const std::string& topology, std::int64_t nodes, const Variables& variables)
      : nodes_(nodes) {
    const auto folder = std::filesystem::path(SHARDSIM_SOURCE_DIR) / "topologies";
    simcore::Diagnostics diagnostics;
    auto loaded = network::load_topology(topology, {folder}, diagnostics);
    REQUIRE_MESSAGE(loaded.has_value(), simcore::to_text(diagnostics));
    spec_ = std::move(loaded->spec);
    auto built = network::build_graph(spec_, {nodes, std::nullopt, {}, {}}, diagnostics);
    auto setup = read_setup("2.27.7", {}, variables, {}, diagnostics);
    REQUIRE_MESSAGE((built && setup), simcore::to_text(diagnostics));
    graph = std::move(*built);
    setup_ = std::move(*setup);
  }

  NcclSetup& setup() { return setup_; }
  Planner planner() const { return Planner(spec_, topology_is_hopper() ? 90 : 80, setup_); }

  const PlannedCommunicator& plan(const Planner& planner) const {
    const auto shape = shape_of_cluster(spec_, nodes_, spec_.node.gpus);
    REQUIRE(shape.has_value());
    const auto made = planner.plan(*shape);
    REQUIRE_MESSAGE(made.has_value(), (made ? "" : made.error()));
    return **made;
  }

  CommunicatorPlan world() const {
    auto made = CommunicatorPlan::make(graph, one_group(ranks_below(graph.gpu_count())));
    REQUIRE(made.has_value());
    return std::move(*made);
  }

  /// us of an operation alone.
  double time_us(CollectiveKind kind, std::int64_t bytes) const {
    const Planner own = planner();
    const NcclModel model(own, timing_constants(90, &*spec_.node.nics), plain_tuning({}));
    CommunicatorPlan ranks = world();
    const auto made = model.carry_out(collective(kind, bytes), ranks);
    REQUIRE(made.has_value());
    const CollectiveTiming& timing = made->timing;
    double rate = timing.traffic->rate.bytes_per_second;
    if (timing.cap.bytes_per_second > 0) rate = std::min(rate, timing.cap.bytes_per_second);
    return timing.latency.microseconds() + timing.flow_bytes / rate * 1e6;
  }

  /// Of the pattern's links, calls `visit` with each and its bytes per byte of the flow.
  template <class Visit>
  void each_link(Pattern pattern, const Visit& visit) const {
    const Planner own = planner();
    CommunicatorPlan ranks = world();
    ranks.follow(own);
    const auto traffic = ranks.traffic(pattern);
    REQUIRE(traffic.has_value());
    for (const network::LinkUse& use : (*traffic)->uses) {
      visit(graph.links()[use.link], use.weight);
    }
  }

  /// Bytes on links of a kind, per byte of the flow.
  double on_links(network::LinkKind kind, Pattern pattern = Pattern::ring) const {
    double sum = 0;
    each_link(pattern, [&](const network::Link& link, double weight) {
      if (link.kind == kind) sum += weight;
    });
    return sum;
  }

  network::Graph graph;

 private:
  bool topology_is_hopper() const { return spec_.gpu.starts_with("h100"); }

  std::int64_t nodes_;
  network::TopologySpec spec_;
  NcclSetup setup_;
};

constexpr std::int64_t GiB = std::int64_t{1} << 30;

double all_reduce_us(const std::string& topology, std::int64_t nodes, Variables variables,
                     std::int64_t bytes = GiB) {
  variables.try_emplace("NCCL_ALGO", "Ring");
  return SetUpCluster(topology, nodes, variables).time_us(CollectiveKind::all_reduce, bytes);
}

}  // namespace

TEST_CASE("rings follow the channels of the search, and every NIC carries its share") {
  const SetUpCluster cluster("dgx-h100", 2, {});
  const Planner planner = cluster.planner();
  CommunicatorPlan ranks = cluster.world();
  ranks.follow(planner);
  const auto traffic = ranks.traffic(Pattern::ring);
  REQUIRE(traffic.has_value());
  int ports = 0;
  for (const network::LinkUse& use : (*traffic)->uses) {
    const network::Link& link = cluster.graph.links()[use.link];
    if (cluster.graph.vertices()[link.from].kind != network::DeviceKind::nic) continue;
    if (link.kind != network::LinkKind::network) continue;
    CHECK(use.weight == doctest::Approx(1.0 / 8));
    ++ports;
  }
  CHECK(ports == 16);
  CHECK((*traffic)->between.hops == 16);
}

TEST_CASE("each group of a communicator has channels of its own") {
  // GPU i of both nodes, for each i: one NIC each, not all the first group's.
  const SetUpCluster cluster("dgx-h100", 2, {});
  const Planner planner = cluster.planner();
  CommunicatorSpec spec;
  spec.role = "replicate";
  spec.members = 2;
  for (int i = 0; i < 8; ++i) spec.groups.push_back({i, 8 + i});
  auto ranks = CommunicatorPlan::make(cluster.graph, spec);
  REQUIRE(ranks.has_value());
  ranks->follow(planner);
  const auto traffic = ranks->traffic(Pattern::ring);
  REQUIRE(traffic.has_value());
  CHECK((*traffic)->rate.bytes_per_second == doctest::Approx(48e9));
}

TEST_CASE("NCCL_IB_HCA: NICs that are not named carry nothing") {
  const double all = all_reduce_us("dgx-h100", 2, {});
  const double half =
      all_reduce_us("dgx-h100", 2, {{"NCCL_IB_HCA", "=mlx5_0,mlx5_2,mlx5_4,mlx5_6"}});
  const double one = all_reduce_us("dgx-h100", 2, {{"NCCL_IB_HCA", "=mlx5_3"}});
  CHECK(half / all > 1.8);
  CHECK(half / all < 2.2);
  CHECK(one / all > 7);
  const SetUpCluster none("dgx-h100", 2, {{"NCCL_IB_HCA", "ib9"}});
  const Planner planner = none.planner();
  const auto shape = shape_of(none.graph, none.world().domains());
  REQUIRE(shape.has_value());
  CHECK(planner.by_sockets());
  CHECK(planner.plan(*shape).has_value());
}

TEST_CASE("NCCL_P2P_DISABLE: data inside a node go through the CPUs' memory") {
  const SetUpCluster healthy("dgx-a100", 1, {});
  const SetUpCluster disabled("dgx-a100", 1, {{"NCCL_P2P_DISABLE", "1"}});
  CHECK(healthy.on_links(network::LinkKind::nvlink) > 0);
  CHECK(disabled.on_links(network::LinkKind::nvlink) == 0);
  CHECK(disabled.on_links(network::LinkKind::pcie) > 0);
  const double change =
      all_reduce_us("dgx-a100", 1, {{"NCCL_P2P_DISABLE", "1"}}) / all_reduce_us("dgx-a100", 1, {});
  CHECK(change > 8);
  CHECK(change < 60);
  // All-to-all too.
  const auto alltoall_us = [](const SetUpCluster& cluster) {
    return cluster.time_us(CollectiveKind::alltoall, GiB);
  };
  CHECK(alltoall_us(disabled) > 5 * alltoall_us(healthy));
}

TEST_CASE(
    "NCCL_P2P_LEVEL=PHB lets GPUs of one CPU reach each other, NVL only neighbours by NVLink") {
  const auto worst = [](const char* level) {
    const SetUpCluster cluster("pcie-8xl40s", 1, {{"NCCL_P2P_LEVEL", level}});
    const Planner planner = cluster.planner();
    const PlannedCommunicator& plan = cluster.plan(planner);
    return plan.land->gpu_gpu(0, 1).type;
  };
  CHECK(worst("PIX") == PathType::pix);
  CHECK(worst("NVL") >= PathType::phb);
}

TEST_CASE("NCCL_NET_GDR_LEVEL=LOC: what comes from the network passes the CPU") {
  const SetUpCluster direct("dgx-h100", 2, {});
  const SetUpCluster staged("dgx-h100", 2, {{"NCCL_NET_GDR_LEVEL", "LOC"}});
  CHECK(staged.on_links(network::LinkKind::pcie) > direct.on_links(network::LinkKind::pcie));
  const double change = all_reduce_us("dgx-h100", 2, {{"NCCL_NET_GDR_LEVEL", "LOC"}}) /
                        all_reduce_us("dgx-h100", 2, {});
  CHECK(change > 1.2);
}

TEST_CASE("NCCL_CROSS_NIC=0: rings leave by the NIC that they came in by") {
  const auto crossing = [](const char* value) {
    const SetUpCluster cluster("dgx-h100", 2, {{"NCCL_CROSS_NIC", value}});
    const Planner planner = cluster.planner();
    int count = 0;
    for (const GraphChannel& channel : cluster.plan(planner).graphs.ring.channels) {
      count += channel.net_in != channel.net_out ? 1 : 0;
    }
    return count;
  };
  CHECK(crossing("0") == 0);
  CHECK(crossing("2") == 8);
}

TEST_CASE("NCCL_IB_MERGE_NICS=0: the ports of a card are devices of their own") {
  const auto devices = [](const Variables& variables) {
    const SetUpCluster cluster("oci-a100-40gb", 2, variables);
    const Planner planner = cluster.planner();
    return cluster.plan(planner).system->nets.size();
  };
  CHECK(devices({}) == 8);
  CHECK(devices({{"NCCL_IB_MERGE_NICS", "0"}}) == 16);
}

TEST_CASE("a network device of several NICs spreads over all of them") {
  const SetUpCluster p5("aws-p5", 2, {});
  const Planner planner = p5.planner();
  CHECK(p5.plan(planner).system->nets.size() == 8);
  CommunicatorPlan ranks = p5.world();
  ranks.follow(planner);
  const auto traffic = ranks.traffic(Pattern::ring);
  REQUIRE(traffic.has_value());
  CHECK((*traffic)->rate.bytes_per_second == doctest::Approx(32 * 12.5e9 * 0.835));
}

TEST_CASE("NCCL_GRAPH_FILE takes the place of the search") {
  SetUpCluster cluster("dgx-h100", 2, {{"NCCL_ALGO", "Ring"}});
  std::string text;
  {
    const Planner planner = cluster.planner();
    NodeGraphs graphs = cluster.plan(planner).graphs;
    CHECK(graphs.ring.channel_count() == 8);
    graphs.ring.channels.resize(2);
    text = write_graph_xml(graphs, *cluster.plan(planner).system);
  }
  const double searched = cluster.time_us(CollectiveKind::all_reduce, GiB);
  cluster.setup().graph_file = source_of("graphs.xml", text);
  const Planner given = cluster.planner();
  CHECK(cluster.plan(given).graphs.ring.channel_count() == 2);
  CHECK(cluster.time_us(CollectiveKind::all_reduce, GiB) / searched > 3);

  cluster.setup().graph_file = source_of("graphs.xml", "<graphs version=\"1\"><graph/></graphs>");
  const Planner bad = cluster.planner();
  const auto shape = shape_of(cluster.graph, cluster.world().domains());
  const auto refused = bad.plan(*shape);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().find("graphs.xml") != std::string::npos);
}

TEST_CASE("NCCL_TOPO_FILE takes the place of the machine that NCCL would find") {
  SetUpCluster cluster("dgx-h100", 2, {});
  cluster.setup().machine = shipped_machine("hgx_h100_4x400g");
  const Planner planner = cluster.planner();
  CHECK(cluster.plan(planner).system->nets.size() == 4);
  // What NCCL_TOPO_DUMP_FILE would hold is that machine again.
  const CommunicatorShape& shape = cluster.plan(planner).shape;
  CHECK(gpus_of(planner.machine_of(shape)).size() == 8);
}

TEST_CASE("messages: NCCL_P2P_LL_THRESHOLD, NCCL_MAX_P2P_NCHANNELS") {
  const auto carried_out = [](const Variables& variables, std::int64_t bytes) {
    const SetUpCluster cluster("dgx-h100", 1, variables);
    const Planner planner = cluster.planner();
    const NcclModel model(planner, timing_constants(90, nullptr), plain_tuning({}));
    CommunicatorPlan ranks = cluster.world();
    return model.carry_out(collective(CollectiveKind::alltoall, bytes), ranks)->timing;
  };
  CHECK(carried_out({}, 8 * 16384).protocol == "LL");
  CHECK(carried_out({{"NCCL_P2P_LL_THRESHOLD", "0"}}, 8 * 16384).protocol == "Simple");
  CHECK(carried_out({{"NCCL_P2P_LL_THRESHOLD", "1000000"}}, 8 << 18).protocol == "LL");
  CHECK(carried_out({}, 1 << 20).channels == 32);
  CHECK(carried_out({{"NCCL_MAX_P2P_NCHANNELS", "4"}}, 1 << 20).channels == 4);
}

TEST_CASE("NCCL_SHM_DISABLE: GPUs that do not reach each other send by their NICs") {
  const auto by_nics = [](const Variables& variables) {
    const SetUpCluster cluster("dgx-h100", 1, variables);
    double sum = 0;
    cluster.each_link(Pattern::ring, [&](const network::Link& link, double weight) {
      if (cluster.graph.vertices()[link.to].kind == network::DeviceKind::nic) sum += weight;
    });
    return sum;
  };
  CHECK(by_nics({{"NCCL_SHM_DISABLE", "1"}}) == 0);
  CHECK(by_nics({{"NCCL_P2P_DISABLE", "1"}}) == 0);
  CHECK(by_nics({{"NCCL_P2P_DISABLE", "1"}, {"NCCL_SHM_DISABLE", "1"}}) > 0);
}

TEST_CASE("NCCL_P2P_PXN_LEVEL=0: messages leave by the NIC of their own GPU") {
  const auto by_nvlink = [](const Variables& variables) {
    const SetUpCluster cluster("dgx-h100", 2, variables);
    return cluster.on_links(network::LinkKind::nvlink, Pattern::all_pairs);
  };
  const double with = by_nvlink({});
  CHECK(by_nvlink({{"NCCL_P2P_PXN_LEVEL", "1"}}) == doctest::Approx(with));
  // 16 x 7 messages of a node's own, to and from a switch; 16 x 7 that change rail besides.
  CHECK(with == doctest::Approx(2 * 2 * 16 * 7));
  CHECK(by_nvlink({{"NCCL_P2P_PXN_LEVEL", "0"}}) == doctest::Approx(2 * 16 * 7));
  CHECK(by_nvlink({{"NCCL_PXN_DISABLE", "1"}}) == doctest::Approx(2 * 16 * 7));
}

TEST_CASE("NCCL_IB_QPS_PER_CONNECTION: queue pairs spread over the ways of a fabric that hashes") {
  const auto used = [](const char* count) {
    const SetUpCluster cluster("h100-fat-tree", 16, {{"NCCL_IB_QPS_PER_CONNECTION", count}});
    double fullest = 0;
    double sum = 0;
    cluster.each_link(Pattern::ring, [&](const network::Link& link, double weight) {
      const auto& vertices = cluster.graph.vertices();
      if (vertices[link.from].kind != network::DeviceKind::network_switch) return;
      if (vertices[link.to].kind != network::DeviceKind::network_switch) return;
      fullest = std::max(fullest, weight);
      sum += weight;
    });
    return std::pair(fullest, sum);
  };
  const auto [one_fullest, one_sum] = used("1");
  const auto [many_fullest, many_sum] = used("16");
  CHECK(many_sum == doctest::Approx(one_sum));
  CHECK(many_fullest < one_fullest);
}

TEST_CASE("NCCL_NET=Socket: data pass the CPU, as fast as its threads copy") {
  const Variables sockets{{"NCCL_NET", "Socket"}};
  const SetUpCluster plain("dgx-h100", 2, {});
  const SetUpCluster slow("dgx-h100", 2, sockets);
  CHECK(slow.on_links(network::LinkKind::pcie) > plain.on_links(network::LinkKind::pcie));
  // An all-reduce of 16 ranks puts 1.875 bytes on the NICs for each byte; eight proxies a node.
  const auto bytes = static_cast<double>(GiB);
  const double us = all_reduce_us("dgx-h100", 2, sockets);
  CHECK(us > 1.875 * bytes / (8 * 1.6e3) * 0.99);
  CHECK(us < 1.875 * bytes / (8 * 1.6e3) * 2.5);
  const double faster =
      all_reduce_us("dgx-h100", 2, {{"NCCL_NET", "Socket"}, {"NCCL_SOCKET_NTHREADS", "4"}});
  CHECK(us / faster > 3);
  CHECK(all_reduce_us("dgx-h100", 2, {{"NCCL_IB_DISABLE", "1"}}) == doctest::Approx(us));
  // Small operations take the kernel's way through TCP.
  CHECK(all_reduce_us("dgx-h100", 2, sockets, 8) > all_reduce_us("dgx-h100", 2, {}, 8) + 20);
}

TEST_CASE("NCCL_P2P_NVL_CHUNKSIZE: how much must come in before the rest follows") {
  const auto us = [](const Variables& variables) {
    return SetUpCluster("dgx-h100", 1, variables).time_us(CollectiveKind::sendrecv, 64 << 20);
  };
  CHECK(us({{"NCCL_P2P_NVL_CHUNKSIZE", "131072"}}) < us({}));
  CHECK(us({{"NCCL_P2P_PCI_CHUNKSIZE", "131072"}}) == us({}));
}

TEST_CASE("NCCL_NCHANNELS_PER_NET_PEER: into how many parts a message to another node is cut") {
  const auto parts = [](const Variables& variables) {
    const SetUpCluster cluster("dgx-h100", 2, variables);
    const Planner planner = cluster.planner();
    const MessageRules rules = message_rules(cluster.plan(planner), planner.setup().environment);
    return cut_message(rules, 64 << 20).parts;
  };
  CHECK(parts({}) == 4);
  CHECK(parts({{"NCCL_NCHANNELS_PER_NET_PEER", "1"}}) == 1);
  CHECK(parts({{"NCCL_P2P_PER_CHANNEL_NET_BW", "50"}}) == 1);
}

TEST_CASE("the planner plans a shape once, and refuses what the machine does not have") {
  const SetUpCluster cluster("dgx-h100", 2, {});
  const Planner planner = cluster.planner();
  const PlannedCommunicator& first = cluster.plan(planner);
  CHECK(&cluster.plan(planner) == &first);
  CommunicatorShape shape = first.shape;
  shape.gpus_of_host.front().push_back(99);
  CHECK_FALSE(planner.plan(shape).has_value());
  shape.gpus_of_host.assign(1, ranks_below(1000));
  const auto many = planner.plan(shape);
  REQUIRE_FALSE(many.has_value());
  CHECK(many.error().find("1000 GPUs") != std::string::npos);
}

TEST_CASE("nodes of unequal size run as rings in general, and a note says so") {
  const SetUpCluster cluster("dgx-h100", 2, {});
  const Planner planner = cluster.planner();
  const NcclModel model(planner, timing_constants(90, nullptr), plain_tuning({}));
  auto uneven = CommunicatorPlan::make(cluster.graph, one_group({0, 1, 2, 8}));
  REQUIRE(uneven.has_value());
  const auto made = model.carry_out(collective(CollectiveKind::all_gather, 1 << 20), *uneven);
  REQUIRE(made.has_value());
  CHECK_FALSE(made->choice.has_value());
  REQUIRE(model.notes().size() == 1);
  CHECK(model.notes().begin()->find("unequal size") != std::string::npos);
  // One rank alone has nothing to do.
  auto alone = CommunicatorPlan::make(cluster.graph, one_group({3}));
  const auto nothing = model.carry_out(collective(CollectiveKind::all_reduce, 1 << 20), *alone);
  CHECK(nothing->timing.flow_bytes == 0);
}

}  // namespace shardsim::nccl

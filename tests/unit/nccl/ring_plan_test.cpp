#include "models/nccl/ring_plan.hpp"

#include <algorithm>
#include <set>

#include <doctest/doctest.h>

#include "models/nccl/nvlink_mesh.hpp"
#include "tests/unit/nccl/nccl_fixture.hpp"

namespace shardsim::nccl {

namespace {

RingPlan plan_of(const network::Graph& graph, const std::vector<int>& ranks) {
  return plan_rings(graph, find_domains(graph, ranks));
}

/// The ring written from rank 0 on.
std::vector<int> from_zero(std::vector<int> order) {
  std::ranges::rotate(order, std::ranges::find(order, 0));
  return order;
}

void check_ring(const Ring& ring, std::vector<int> ranks) {
  std::vector<int> visited = ring.order;
  std::ranges::sort(visited);
  std::ranges::sort(ranks);
  CHECK(visited == ranks);
  REQUIRE(ring.hops.size() == ranks.size());
  for (std::size_t i = 0; i < ring.hops.size(); ++i) {
    CHECK(ring.hops[i].from_rank == ring.order[i]);
    CHECK(ring.hops[i].to_rank == ring.order[(i + 1) % ring.order.size()]);
  }
}

/// Nodes of GPUs on a switch, each two of which share one NIC.
Cluster shared_nics(int nodes, int gpus) {
  Cluster cluster;
  network::Graph& graph = cluster.graph;
  std::vector<VertexId> nics;
  for (int node = 0; node < nodes; ++node) {
    const VertexId nvswitch = graph.add_vertex({DeviceKind::nvswitch, node, 0, 0});
    VertexId pcie = 0;
    for (int i = 0; i < gpus; ++i) {
      if (i % 2 == 0) {
        pcie = graph.add_vertex({DeviceKind::pcie_switch, node, i / 2, 0});
        nics.push_back(graph.add_vertex({DeviceKind::nic, node, i / 2, 0}));
        join(graph, pcie, nics.back(), LinkKind::pcie, 24e9, {});
      }
      const VertexId gpu = graph.add_vertex({DeviceKind::gpu, node, i, 0});
      join(graph, gpu, nvswitch, LinkKind::nvlink, 300e9, {});
      join(graph, gpu, pcie, LinkKind::pcie, 24e9, {});
    }
  }
  const VertexId leaf = graph.add_vertex({DeviceKind::network_switch, -1, 0, 0});
  for (const VertexId nic : nics) join(graph, nic, leaf, LinkKind::network, 12.5e9, {});
  return cluster;
}

}  // namespace

TEST_CASE("rings over rail-optimised nodes are those that NCCL lays") {
  // NCCL 2.30.7 on two DGX H100, channels 0 to 3.
  const Cluster cluster = make_cluster({.nodes = 2, .gpus = 8});
  const RingPlan plan = plan_of(cluster.graph, ranks_below(16));
  CHECK(plan.nodes == 2);
  CHECK(plan.ranks == 16);
  REQUIRE(plan.rings.size() == 8);
  using Order = std::vector<int>;
  CHECK(from_zero(plan.rings[0].order) ==
        Order{0, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11, 12, 13, 14, 15, 8});
  CHECK(from_zero(plan.rings[1].order) ==
        Order{0, 8, 15, 14, 13, 12, 11, 10, 9, 1, 2, 3, 4, 5, 6, 7});
  CHECK(from_zero(plan.rings[2].order) ==
        Order{0, 7, 6, 5, 4, 3, 11, 12, 13, 14, 15, 8, 9, 10, 2, 1});
  CHECK(from_zero(plan.rings[3].order) ==
        Order{0, 1, 2, 10, 9, 8, 15, 14, 13, 12, 11, 3, 4, 5, 6, 7});
}

TEST_CASE("where two GPUs share a NIC, a ring leaves from the second by the same NIC") {
  // NCCL 2.30.7 on four nodes like AWS p4d, channels 0 to 3.
  const Cluster cluster = shared_nics(4, 8);
  const RingPlan plan = plan_of(cluster.graph, ranks_below(32));
  REQUIRE(plan.rings.size() == 4);
  using Order = std::vector<int>;
  CHECK(from_zero(plan.rings[0].order) == Order{0,  7,  6,  5,  4,  3,  2,  1,  8,  15, 14,
                                                13, 12, 11, 10, 9,  16, 23, 22, 21, 20, 19,
                                                18, 17, 24, 31, 30, 29, 28, 27, 26, 25});
  CHECK(from_zero(plan.rings[3].order) == Order{0,  7,  14, 13, 12, 11, 10, 9,  8,  15, 22,
                                                21, 20, 19, 18, 17, 16, 23, 30, 29, 28, 27,
                                                26, 25, 24, 31, 6,  5,  4,  3,  2,  1});
}

TEST_CASE("data stay on their rail between nodes, but where an odd number of nodes closes") {
  for (const int nodes : {2, 3, 4, 7}) {
    const Cluster cluster = make_cluster({.nodes = nodes, .gpus = 4});
    const RingPlan plan = plan_of(cluster.graph, ranks_below(nodes * 4));
    REQUIRE(plan.rings.size() == 4);
    for (const Ring& ring : plan.rings) {
      check_ring(ring, ranks_below(nodes * 4));
      int crossing = 0;
      for (const Hop& hop : ring.hops) {
        if (!hop.between_nodes) continue;
        const auto& vertices = cluster.graph.vertices();
        crossing += vertices[*hop.out_nic].index != vertices[*hop.in_nic].index ? 1 : 0;
      }
      CHECK(crossing == nodes % 2);
    }
  }
}

TEST_CASE("every NIC sends and receives the same share") {
  for (const auto& [nodes, gpus] : {std::pair{2, 8}, {3, 8}, {5, 3}, {2, 1}, {4, 2}}) {
    const Cluster cluster = make_cluster({.nodes = nodes, .gpus = gpus});
    const RingPlan plan = plan_of(cluster.graph, ranks_below(nodes * gpus));
    std::map<VertexId, int> sent;
    std::map<VertexId, int> received;
    for (const Ring& ring : plan.rings) {
      for (const Hop& hop : ring.hops) {
        if (!hop.between_nodes) continue;
        ++sent[*hop.out_nic];
        ++received[*hop.in_nic];
      }
    }
    CHECK(sent.size() == static_cast<std::size_t>(nodes * gpus));
    CHECK(received.size() == sent.size());
    for (const auto& [nic, count] : sent) CHECK(count == 1);
    for (const auto& [nic, count] : received) CHECK(count == 1);
  }
}

TEST_CASE("a port without a partner is left by NVLink and its own NIC, not by the fabric") {
  const Cluster cluster = make_cluster({.nodes = 2, .gpus = 3, .nic = 50e9});
  auto made = CommunicatorPlan::make(cluster.graph, one_group(ranks_below(6)));
  REQUIRE(made.has_value());
  CHECK(made->ring().rate.bytes_per_second == doctest::Approx(150e9).epsilon(1e-12));
  CHECK(std::ranges::none_of(made->ring().uses, [&](const network::LinkUse& use) {
    const auto& link = cluster.graph.links()[use.link];
    return cluster.graph.vertices()[link.to].tier == 1;
  }));
}

TEST_CASE("a replica group uses the NICs of its own GPUs") {
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 8});
  const RingPlan plan = plan_of(cluster.graph, {3, 11, 19, 27});
  REQUIRE(plan.rings.size() == 1);
  CHECK(plan.nodes == 4);
  CHECK(plan.rings[0].order == std::vector<int>{3, 11, 19, 27});
  for (const Hop& hop : plan.rings[0].hops) {
    CHECK(hop.between_nodes);
    CHECK(cluster.graph.vertices()[*hop.out_nic].index == 3);
    CHECK(cluster.graph.vertices()[*hop.in_nic].index == 3);
  }
}

TEST_CASE("nodes come in the order of their first rank, GPUs in that of the hardware") {
  const Cluster cluster = make_cluster({.nodes = 3, .gpus = 4});
  const auto domains = find_domains(cluster.graph, std::vector<int>{10, 2, 8, 0, 3, 11});
  REQUIRE(domains.size() == 2);
  CHECK(domains[0].ranks == std::vector<int>{8, 10, 11});
  CHECK(domains[1].ranks == std::vector<int>{0, 2, 3});
}

TEST_CASE("hosts behind one NVLink switch are one node") {
  Cluster cluster;
  const VertexId nvswitch = cluster.graph.add_vertex({DeviceKind::nvswitch, -1, 0, 0});
  for (int host = 0; host < 3; ++host) {
    for (int i = 0; i < 4; ++i) {
      const VertexId gpu = cluster.graph.add_vertex({DeviceKind::gpu, host, i, 0});
      join(cluster.graph, gpu, nvswitch, LinkKind::nvlink, 700e9, {});
    }
  }
  const RingPlan plan = plan_of(cluster.graph, ranks_below(12));
  CHECK(plan.nodes == 1);
  REQUIRE(plan.rings.size() == 1);
  check_ring(plan.rings[0], ranks_below(12));
}

TEST_CASE("one rank is a ring without hops") {
  const Cluster cluster = make_cluster({.gpus = 2});
  const RingPlan plan = plan_of(cluster.graph, {1});
  REQUIRE(plan.rings.size() == 1);
  CHECK(plan.rings[0].hops.empty());
}

TEST_CASE("rings over direct NVLinks follow them and use nearly all") {
  // The hybrid cube mesh of DGX-1: links between each pair, six on every GPU.
  network::Graph graph;
  std::vector<VertexId> gpus;
  for (int i = 0; i < 8; ++i) gpus.push_back(graph.add_vertex({DeviceKind::gpu, 0, i, 0}));
  const int pairs[][3] = {{0, 1, 1}, {0, 2, 1}, {0, 3, 2}, {0, 4, 2}, {1, 2, 2}, {1, 3, 1},
                          {1, 5, 2}, {2, 3, 2}, {2, 6, 1}, {3, 7, 1}, {4, 5, 1}, {4, 6, 1},
                          {4, 7, 2}, {5, 6, 2}, {5, 7, 1}, {6, 7, 2}};
  for (const auto& [a, b, links] : pairs) {
    join(graph, gpus[static_cast<std::size_t>(a)], gpus[static_cast<std::size_t>(b)],
         LinkKind::nvlink, 20e9 * links, {});
  }
  const std::vector<int> ranks = ranks_below(8);
  const RingPlan plan = plan_of(graph, ranks);
  for (const Ring& ring : plan.rings) {
    check_ring(ring, ranks);
    for (const Hop& hop : ring.hops) {
      CHECK(graph.find_link(graph.gpu(hop.from_rank), graph.gpu(hop.to_rank)).has_value());
    }
  }
  auto made = CommunicatorPlan::make(graph, one_group(ranks));
  REQUIRE(made.has_value());
  // A GPU sends 120 GB/s at most.
  CHECK(made->ring().rate.bytes_per_second <= 120e9 * (1 + 1e-12));
  CHECK(made->ring().rate.bytes_per_second >= 100e9);

  const auto path = NvlinkMesh(graph, ranks).path(0, 5);
  REQUIRE(path.has_value());
  CHECK(path->front() == 0);
  CHECK(path->back() == 5);
  CHECK(std::set<int>(path->begin(), path->end()).size() == 8);
}

TEST_CASE("GPUs cabled each to each use all of their links") {
  network::Graph graph;
  for (int i = 0; i < 4; ++i) graph.add_vertex({DeviceKind::gpu, 0, i, 0});
  for (int a = 0; a < 4; ++a) {
    for (int b = a + 1; b < 4; ++b) {
      join(graph, graph.gpu(a), graph.gpu(b), LinkKind::nvlink, 80e9, {});
    }
  }
  auto made = CommunicatorPlan::make(graph, one_group(ranks_below(4)));
  REQUIRE(made.has_value());
  CHECK(made->ring().rate.bytes_per_second == doctest::Approx(240e9).epsilon(1e-12));
}

TEST_CASE("GPUs on PCIe alone form one ring in hardware order") {
  network::Graph graph;
  const VertexId cpu = graph.add_vertex({DeviceKind::cpu, 0, 0, 0});
  for (int i = 0; i < 4; ++i) {
    const VertexId gpu = graph.add_vertex({DeviceKind::gpu, 0, i, 0});
    join(graph, gpu, cpu, LinkKind::pcie, 20e9, {});
  }
  auto made = CommunicatorPlan::make(graph, one_group({2, 0, 3, 1}));
  REQUIRE(made.has_value());
  CHECK(made->ring_plan().rings.front().order == std::vector<int>{0, 1, 2, 3});
  CHECK(made->ring().rate.bytes_per_second == 20e9);
  CHECK_FALSE(made->ring().inside_by_nvlink);
  CHECK_FALSE(made->on_nvswitch());
}

}  // namespace shardsim::nccl

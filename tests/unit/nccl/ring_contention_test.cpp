#include <doctest/doctest.h>

#include "tests/unit/nccl/nccl_fixture.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {
constexpr std::int64_t gib = std::int64_t{1} << 30;
}

TEST_CASE("two rings that share NICs take twice as long") {
  // Two communicators of one GPU per node over the same NICs.
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 1, .nic = 50e9});
  BackendFixture f(cluster.graph, plain_tuning({}));
  const auto spec = collective(CollectiveKind::all_gather, gib);
  const auto a = f.backend.add_communicator(one_group(ranks_below(4), "a"));
  const auto b = f.backend.add_communicator(one_group(ranks_below(4), "b"));
  f.arrive_all(a, 4, spec);
  f.arrive_all(b, 4, spec);
  f.run();
  CHECK(f.end_of(a) == picoseconds(2 * 0.75 * gib / 50e9));
  CHECK(f.end_of(b) == f.end_of(a));
}

TEST_CASE("two rings that share one link only are held by it, each to half") {
  // Ranks 0 and 1 talk, and ranks 2 and 3: all four through the spine in one direction and back.
  const Cluster cluster = make_cluster({.nodes = 2, .gpus = 2, .nic = 50e9, .leaf_to_spine = 40e9});
  BackendFixture f(cluster.graph, plain_tuning({}));
  const auto spec = collective(CollectiveKind::all_gather, gib);
  // GPU 0 of node 0 with GPU 1 of node 1, and the other two: both cross between the leaves.
  const auto a = f.backend.add_communicator(one_group({0, 3}, "a"));
  const auto b = f.backend.add_communicator(one_group({1, 2}, "b"));
  f.arrive_all(a, 2, spec);
  f.run();
  CHECK(f.end_of(a) == picoseconds(0.5 * gib / 40e9));
  const SimTime start = f.queue.now();
  f.arrive_all(a, 2, spec);
  f.arrive_all(b, 2, spec);
  f.run();
  CHECK(f.end_of(a) - start.picoseconds() == picoseconds(0.5 * gib / 20e9));
  CHECK(f.end_of(b) == f.end_of(a));
}

TEST_CASE("a third flow with a cap takes its cap, the rings share what is left") {
  const Cluster cluster = make_cluster({.nodes = 2, .gpus = 1, .nic = 50e9});
  BackendFixture f(cluster.graph, plain_tuning({}));
  struct Ignore final : network::FlowListener {
    void flow_finished(network::FlowId, std::uint64_t) override {}
  } ignore;
  const network::LinkUse use{cluster.link("node[0].nic[0]", "leaf[0]"), 1.0};
  f.flows.start({&use, 1}, 1e12, BitRate{10e9}, ignore, 0);
  const auto spec = collective(CollectiveKind::all_gather, gib);
  const auto a = f.backend.add_communicator(one_group({0, 1}, "a"));
  const auto b = f.backend.add_communicator(one_group({0, 1}, "b"));
  f.arrive_all(a, 2, spec);
  f.arrive_all(b, 2, spec);
  f.run();
  CHECK(f.end_of(a) == picoseconds(0.5 * gib / 20e9));
  CHECK(f.end_of(b) == f.end_of(a));
}

TEST_CASE("shard groups inside nodes and replica groups across them leave each other alone") {
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 8});
  BackendFixture f(cluster.graph, plain_tuning({}));
  const auto spec = collective(CollectiveKind::all_gather, gib);
  CommunicatorSpec shard{"shard", {}, 1};
  CommunicatorSpec replicas{"repl", {}, 1};
  for (int node = 0; node < 4; ++node) {
    shard.groups.emplace_back();
    for (int i = 0; i < 8; ++i) shard.groups.back().push_back(node * 8 + i);
  }
  for (int i = 0; i < 8; ++i) replicas.groups.push_back({i, 8 + i, 16 + i, 24 + i});
  const auto a = f.backend.add_communicator(shard);
  const auto b = f.backend.add_communicator(replicas);
  f.arrive_all(a, 1, spec);
  f.arrive_all(b, 1, spec);
  f.run();
  CHECK(f.end_of(a) == picoseconds(7.0 / 8 * gib / 400e9));
  CHECK(f.end_of(b) == picoseconds(3.0 / 4 * gib / 50e9));
}

TEST_CASE("groups in lockstep take exactly as long as the same groups one by one") {
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 8});
  const auto spec = collective(CollectiveKind::reduce_scatter, gib);
  CommunicatorSpec together{"repl", {}, 1};
  for (int i = 0; i < 8; ++i) together.groups.push_back({i, 8 + i, 16 + i, 24 + i});
  BackendFixture lockstep(cluster.graph, plain_tuning({}));
  const auto all = lockstep.backend.add_communicator(together);
  lockstep.arrive_all(all, 1, spec);
  lockstep.run();
  BackendFixture apart(cluster.graph, plain_tuning({}));
  for (const auto& group : together.groups) {
    apart.arrive_all(apart.backend.add_communicator(one_group(group)), 4, spec);
  }
  apart.run();
  for (std::uint32_t instance = 0; instance < 8; ++instance) {
    CHECK(apart.end_of(instance) == lockstep.end_of(all));
  }
  for (network::LinkId link = 0; link < cluster.graph.links().size(); ++link) {
    CHECK(lockstep.flows.statistics(link).bytes == apart.flows.statistics(link).bytes);
  }
}

TEST_CASE("a slow NIC slows the whole ring by its share of it") {
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 8, .nic = 50e9});
  BackendFixture f(cluster.graph, plain_tuning({}));
  f.flows.set_bandwidth(cluster.link("node[1].nic[2]", "leaf[2]"), BitRate{25e9});
  const auto spec = collective(CollectiveKind::all_gather, gib);
  const auto world = f.backend.add_communicator(one_group(ranks_below(32)));
  f.arrive_all(world, 32, spec);
  f.run();
  CHECK(f.end_of(world) == picoseconds(31.0 / 32 * gib / 200e9));
}

}  // namespace shardsim::nccl

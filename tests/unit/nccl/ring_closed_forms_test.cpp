// Uncontended uniform rings against their closed forms, to rounding.
#include <doctest/doctest.h>

#include "tests/unit/nccl/nccl_fixture.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

constexpr double bandwidth = 50e9;
const SimTime alpha = SimTime::nanoseconds(3'400);

struct ClosedForm {
  CollectiveKind kind;
  double data_share;  ///< of S, on every link
  int steps;
};

std::vector<ClosedForm> closed_forms(int n) {
  const double share = (n - 1.0) / n;
  return {{CollectiveKind::all_reduce, 2 * share, 2 * (n - 1)},
          {CollectiveKind::all_gather, share, n - 1},
          {CollectiveKind::reduce_scatter, share, n - 1},
          {CollectiveKind::broadcast, 1, n - 1},
          {CollectiveKind::reduce, 1, n - 1},
          {CollectiveKind::sendrecv, 1, 1}};
}

void check_closed_forms(const network::Graph& graph, int ranks) {
  for (const ClosedForm& form : closed_forms(ranks)) {
    for (const std::int64_t bytes : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 30}) {
      BackendFixture f(graph, plain_tuning(alpha));
      const auto spec = collective(form.kind, bytes);
      const auto world = f.backend.add_communicator(one_group(ranks_below(ranks)));
      f.arrive_all(world, static_cast<std::uint32_t>(ranks), spec);
      f.run();
      CAPTURE(ranks);
      CAPTURE(bytes);
      CAPTURE(static_cast<int>(form.kind));
      const double data = form.data_share * static_cast<double>(bytes) / bandwidth;
      const std::int64_t expected = alpha.picoseconds() * form.steps + picoseconds(data);
      CHECK(f.end_of(world, 0) == expected);
      CHECK(f.end_of(world, static_cast<std::uint32_t>(ranks - 1)) == expected);
    }
  }
}

}  // namespace

TEST_CASE("rings of one GPU per node meet their closed forms") {
  for (const int ranks : {2, 8, 64}) {
    const Cluster cluster = make_cluster({.nodes = ranks, .gpus = 1, .nic = bandwidth});
    check_closed_forms(cluster.graph, ranks);
  }
}

TEST_CASE("rings inside an NVLink switch meet their closed forms") {
  for (const int ranks : {2, 8, 64}) {
    const Cluster cluster = make_cluster({.gpus = ranks, .nvlink = bandwidth});
    check_closed_forms(cluster.graph, ranks);
  }
}

TEST_CASE("rings over nodes of eight GPUs use all NICs: the ring is eight times one NIC") {
  const Cluster cluster = make_cluster({.nodes = 8, .gpus = 8, .nic = bandwidth / 8});
  for (const ClosedForm& form : closed_forms(64)) {
    if (form.kind == CollectiveKind::sendrecv) continue;
    BackendFixture f(cluster.graph, plain_tuning(alpha));
    const auto spec = collective(form.kind, std::int64_t{1} << 30);
    const auto world = f.backend.add_communicator(one_group(ranks_below(64)));
    f.arrive_all(world, 64, spec);
    f.run();
    CAPTURE(static_cast<int>(form.kind));
    const double data = form.data_share * (std::int64_t{1} << 30) / bandwidth;
    CHECK(f.end_of(world) == alpha.picoseconds() * form.steps + picoseconds(data));
  }
}

TEST_CASE("one rank alone communicates in no time") {
  const Cluster cluster = make_cluster({.gpus = 2});
  for (const ClosedForm& form : closed_forms(1)) {
    BackendFixture f(cluster.graph, plain_tuning(alpha));
    const auto spec = collective(form.kind, std::int64_t{1} << 30);
    const auto single = f.backend.add_communicator(one_group({1}));
    f.backend.arrive(single, 0, spec);
    CHECK(f.ends.empty());  // told by an event, not inside arrive
    f.run();
    CHECK(f.end_of(single) == 0);
    CHECK(f.flows.counters().flows == 0);
  }
}

TEST_CASE("an all-to-all of S bytes sends S/n to each peer at once") {
  const int n = 8;
  const Cluster cluster = make_cluster({.gpus = n, .nvlink = bandwidth});
  BackendFixture f(cluster.graph, plain_tuning(alpha));
  const auto spec = collective(CollectiveKind::alltoall, std::int64_t{1} << 30);
  const auto world = f.backend.add_communicator(one_group(ranks_below(n)));
  f.arrive_all(world, n, spec);
  f.run();
  const double data = (n - 1.0) / n * (std::int64_t{1} << 30) / bandwidth;
  CHECK(std::abs(f.end_of(world) - alpha.picoseconds() - picoseconds(data)) <= 1);
}

TEST_CASE("steps between nodes take the network's latency, steps inside a node NVLink's") {
  const SimTime nvlink = SimTime::nanoseconds(300);
  const SimTime network = SimTime::nanoseconds(850);
  const Cluster cluster =
      make_cluster({.nodes = 4, .gpus = 8, .nvlink_latency = nvlink, .network_latency = network});
  BackendFixture f(cluster.graph, plain_tuning(SimTime{}));
  const auto spec = collective(CollectiveKind::all_reduce, 0);
  const auto world = f.backend.add_communicator(one_group(ranks_below(32)));
  f.arrive_all(world, 32, spec);
  f.run();
  // 62 steps, 6 of them between the four nodes; a hop is two cables.
  CHECK(f.end_of(world) == 56 * 2 * nvlink.picoseconds() + 6 * 2 * network.picoseconds());
}

TEST_CASE("every byte of a collective is on its links, and no more") {
  const std::int64_t bytes = std::int64_t{1} << 30;
  const Cluster cluster = make_cluster({.nodes = 4, .gpus = 8});
  BackendFixture f(cluster.graph, plain_tuning(alpha));
  const auto spec = collective(CollectiveKind::all_gather, bytes);
  const auto world = f.backend.add_communicator(one_group(ranks_below(32)));
  f.arrive_all(world, 32, spec);
  f.run();
  const double ring = 31.0 / 32 * static_cast<double>(bytes);
  // Eight rings, each out of a node by one NIC; seven of them leave each GPU by NVLink.
  CHECK(f.flows.statistics(cluster.link("node[2].nic[5]", "leaf[5]")).bytes ==
        doctest::Approx(ring / 8).epsilon(1e-15));
  CHECK(f.flows.statistics(cluster.link("node[1].gpu[3]", "node[1].nvswitch[0]")).bytes ==
        doctest::Approx(ring * 7 / 8).epsilon(1e-15));
  double total = 0;
  for (network::LinkId link = 0; link < cluster.graph.links().size(); ++link) {
    total += f.flows.statistics(link).bytes;
  }
  // 28 hops of two NVLink cables and 4 hops of six cables (PCIe twice, network, and back).
  CHECK(total == doctest::Approx(ring * (28 * 2 + 4 * 6)).epsilon(1e-14));
}

}  // namespace shardsim::nccl

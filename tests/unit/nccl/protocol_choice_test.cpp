#include <doctest/doctest.h>

#include "tests/unit/nccl/nccl_fixture.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

/// NVLink and network cables whose latencies add up to NCCL's hops of LL: 0.6 and 2.7 us.
ClusterShape realistic(int nodes, int gpus) {
  return {.nodes = nodes,
          .gpus = gpus,
          .nvlink = 351e9,
          .nvlink_latency = SimTime::nanoseconds(300),
          .network_latency = SimTime::nanoseconds(1'350)};
}

CollectiveTiming timing_of(const Cluster& cluster, const RingTuning& tuning, CollectiveKind kind,
                           std::int64_t bytes, gpu::DataType type = gpu::DataType::bf16) {
  // The plan must outlive what the timing points to.
  static std::vector<std::unique_ptr<CommunicatorPlan>> plans;
  auto made =
      CommunicatorPlan::make(cluster.graph, one_group(ranks_below(cluster.graph.gpu_count())));
  REQUIRE(made.has_value());
  plans.push_back(std::make_unique<CommunicatorPlan>(std::move(*made)));
  auto spec = collective(kind, bytes);
  spec.type = type;
  const auto timing = RingModel(tuning).timing(spec, *plans.back());
  REQUIRE(timing.has_value());
  return *timing;
}

RingTuning only(RingTuning tuning, std::string_view protocol) {
  std::erase_if(tuning.protocols, [&](const ProtocolTuning& p) { return p.name != protocol; });
  tuning.multicast.efficiency = 0;
  return tuning;
}

double rate_of(const CollectiveTiming& timing) {
  const double links = timing.traffic->rate.bytes_per_second;
  const double cap = timing.cap.bytes_per_second;
  return cap > 0 ? std::min(cap, links) : links;
}

}  // namespace

TEST_CASE("small operations go by LL, middling ones by LL128, large ones by Simple") {
  const Cluster cluster = make_cluster(realistic(4, 8));
  const RingTuning tuning = nccl_ring_tuning({.compute_capability = 80});
  for (const auto kind : {CollectiveKind::all_gather, CollectiveKind::reduce_scatter,
                          CollectiveKind::all_reduce, CollectiveKind::broadcast}) {
    CHECK(timing_of(cluster, tuning, kind, 1 << 10).protocol == "LL");
    CHECK(timing_of(cluster, tuning, kind, 8 << 20).protocol == "LL128");
    CHECK(timing_of(cluster, tuning, kind, std::int64_t{4} << 30).protocol == "Simple");
    CHECK(timing_of(cluster, tuning, kind, 1 << 10).algorithm == "Ring");
  }
}

TEST_CASE("the latency of an 8-GPU all-reduce is what NCCL prints for NVLink") {
  // NCCL 2.30.4 on eight H200: Ring 15.0, 40.6 and 56.0 us.
  const Cluster cluster = make_cluster(realistic(1, 8));
  const RingTuning tuning = nccl_ring_tuning({.compute_capability = 90});
  const auto latency = [&](std::string_view protocol) {
    return timing_of(cluster, only(tuning, protocol), CollectiveKind::all_reduce, 1 << 20).latency;
  };
  CHECK(latency("LL") == SimTime::nanoseconds(15'000));
  CHECK(latency("LL128") == SimTime::nanoseconds(40'600));
  CHECK(latency("Simple") == SimTime::nanoseconds(56'000));
}

TEST_CASE("between nodes steps cost the network's hop, and at least its overhead inside nodes") {
  const Cluster cluster = make_cluster(realistic(3, 8));
  const RingTuning tuning = nccl_ring_tuning({});
  // All-gather on 24 GPUs: 21 steps inside, 2 between nodes.
  const auto latency = [&](std::string_view protocol) {
    return timing_of(cluster, only(tuning, protocol), CollectiveKind::all_gather, 1 << 20).latency;
  };
  CHECK(latency("LL") == SimTime::nanoseconds(6'600 + 21 * 1'000 + 2 * 2'700));
  CHECK(latency("LL128") == SimTime::nanoseconds(14'000 + 21 * 1'900 + 2 * 4'000));
  CHECK(latency("Simple") == SimTime::nanoseconds(8'400 + 21 * 3'400 + 2 * 14'000));
}

TEST_CASE("with one rank per node the network's hop is the longer one") {
  const Cluster cluster = make_cluster(realistic(4, 1));
  const RingTuning tuning = nccl_ring_tuning({});
  const auto latency = [&](std::string_view protocol) {
    return timing_of(cluster, only(tuning, protocol), CollectiveKind::all_gather, 1 << 20).latency;
  };
  CHECK(latency("LL") == SimTime::nanoseconds(6'600 + 3 * 5'000));
  CHECK(latency("LL128") == SimTime::nanoseconds(14'000 + 3 * 8'500));
  CHECK(latency("Simple") == SimTime::nanoseconds(8'400 + 3 * 14'000));
}

TEST_CASE("LL puts twice the data on the wire, LL128 a fifteenth more") {
  const Cluster cluster = make_cluster(realistic(1, 8));
  const RingTuning tuning = nccl_ring_tuning({});
  const double data = 7.0 / 8 * (1 << 20);
  const auto ll = timing_of(cluster, only(tuning, "LL"), CollectiveKind::all_gather, 1 << 20);
  CHECK(ll.flow_bytes == doctest::Approx(2 * data).epsilon(1e-15));
  // 141 GB/s of data is LL's ceiling on one node of H100.
  CHECK(rate_of(ll) == doctest::Approx(2 * 141e9).epsilon(1e-12));
  const auto ll128 = timing_of(cluster, only(tuning, "LL128"), CollectiveKind::all_gather, 1 << 20);
  CHECK(ll128.flow_bytes == doctest::Approx(data * 16 / 15).epsilon(1e-15));
  CHECK(rate_of(ll128) == doctest::Approx(0.92 * 351e9 * 16 / 15).epsilon(1e-12));
  const auto simple =
      timing_of(cluster, only(tuning, "Simple"), CollectiveKind::all_gather, 1 << 20);
  CHECK(simple.flow_bytes == data);
  CHECK(simple.cap.bytes_per_second == 0);
}

TEST_CASE("between nodes LL's ceiling goes by the CPU and the number of nodes") {
  const auto ceiling = [](int nodes, bool amd) {
    const Cluster cluster = make_cluster(realistic(nodes, 8));
    const RingTuning tuning = nccl_ring_tuning({.amd_cpu = amd});
    return rate_of(timing_of(cluster, only(tuning, "LL"), CollectiveKind::all_gather, 1 << 20)) / 2;
  };
  CHECK(ceiling(2, false) == doctest::Approx(39e9));
  CHECK(ceiling(3, false) == doctest::Approx(20.4e9));
  CHECK(ceiling(2, true) == doctest::Approx(22.5e9));
  CHECK(ceiling(3, true) == doctest::Approx(19e9));
}

TEST_CASE("LL128 needs NVLink inside nodes") {
  network::Graph graph;
  const VertexId cpu = graph.add_vertex({DeviceKind::cpu, 0, 0, 0});
  for (int i = 0; i < 4; ++i) {
    join(graph, graph.add_vertex({DeviceKind::gpu, 0, i, 0}), cpu, LinkKind::pcie, 20e9, {});
  }
  Cluster cluster{std::move(graph)};
  const RingTuning tuning = nccl_ring_tuning({.compute_capability = 80});
  for (std::int64_t bytes = 1; bytes < std::int64_t{1} << 32; bytes *= 4) {
    CHECK(timing_of(cluster, tuning, CollectiveKind::all_reduce, bytes).protocol != "LL128");
  }
}

TEST_CASE("an all-reduce inside an NVLink switch goes by multicast where GPUs can") {
  const Cluster cluster = make_cluster(realistic(1, 8));
  const std::int64_t bytes = std::int64_t{1} << 30;
  const RingTuning hopper = nccl_ring_tuning({.compute_capability = 90});
  const auto nvls = timing_of(cluster, hopper, CollectiveKind::all_reduce, bytes);
  CHECK(nvls.algorithm == "NVLS");
  CHECK(nvls.protocol == "Simple");
  CHECK(nvls.flow_bytes == static_cast<double>(bytes));
  // Each GPU sends and receives 1 + 1/8 bytes per byte.
  REQUIRE(nvls.traffic->uses.size() == 16);
  for (const network::LinkUse& use : nvls.traffic->uses) CHECK(use.weight == 1.125);
  CHECK(rate_of(nvls) == doctest::Approx(351e9 / 1.125 * 0.898).epsilon(1e-3));

  const RingTuning ampere = nccl_ring_tuning({.compute_capability = 80});
  const RingTuning off = nccl_ring_tuning({.compute_capability = 90, .nvls = false});
  using enum gpu::DataType;
  CHECK(timing_of(cluster, ampere, CollectiveKind::all_reduce, bytes).algorithm == "Ring");
  CHECK(timing_of(cluster, off, CollectiveKind::all_reduce, bytes).algorithm == "Ring");
  CHECK(timing_of(cluster, hopper, CollectiveKind::all_reduce, bytes, fp8).algorithm == "Ring");
  CHECK(timing_of(cluster, hopper, CollectiveKind::all_reduce, bytes, fp32).algorithm == "NVLS");
  CHECK(timing_of(cluster, hopper, CollectiveKind::all_gather, bytes).algorithm == "Ring");
  const Cluster two = make_cluster(realistic(2, 8));
  CHECK(timing_of(two, hopper, CollectiveKind::all_reduce, bytes).algorithm == "Ring");
}

TEST_CASE("two GPUs reduce faster by a ring than by multicast") {
  // Published for two H100: ring 347, NVLS 207 GB/s.
  const Cluster cluster = make_cluster(realistic(1, 2));
  const RingTuning tuning = nccl_ring_tuning({.compute_capability = 90});
  CHECK(timing_of(cluster, tuning, CollectiveKind::all_reduce, std::int64_t{1} << 30).algorithm ==
        "Ring");
}

TEST_CASE("the time of a collective never falls as its bytes grow") {
  for (const auto& shape : {realistic(1, 8), realistic(2, 8), realistic(4, 1)}) {
    const Cluster cluster = make_cluster(shape);
    const RingTuning tuning = nccl_ring_tuning({});
    for (const auto kind : {CollectiveKind::all_reduce, CollectiveKind::all_gather,
                            CollectiveKind::broadcast, CollectiveKind::alltoall}) {
      double before = 0;
      for (std::int64_t bytes = 1; bytes <= std::int64_t{1} << 34; bytes *= 2) {
        const auto timing = timing_of(cluster, tuning, kind, bytes);
        const double time = timing.latency.seconds() + timing.flow_bytes / rate_of(timing);
        CHECK(time >= before);
        before = time;
      }
    }
  }
}

TEST_CASE("channels are NCCL's rings, doubled, and fewer for small operations") {
  const RingTuning hopper = nccl_ring_tuning({.compute_capability = 90, .nvls = false});
  const std::int64_t large = std::int64_t{1} << 30;
  CHECK(timing_of(make_cluster(realistic(1, 8)), hopper, CollectiveKind::all_gather, large)
            .channels == 24);
  CHECK(timing_of(make_cluster(realistic(2, 8)), hopper, CollectiveKind::all_gather, large)
            .channels == 16);
  CHECK(timing_of(make_cluster(realistic(2, 8)), hopper, CollectiveKind::all_gather, 8).channels ==
        1);
  const Cluster ampere = make_cluster({.gpus = 8, .nvlink = 231e9});
  CHECK(timing_of(ampere, nccl_ring_tuning({.compute_capability = 80}), CollectiveKind::all_gather,
                  large)
            .channels == 24);
}

}  // namespace shardsim::nccl

#include <array>
#include <functional>

#include <doctest/doctest.h>

#include "tests/unit/nccl/nccl_fixture.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

// Events at chosen times, without a runtime.
class At final : public simcore::EventReceiver {
 public:
  explicit At(simcore::EventQueue& queue) : queue_(queue) {}
  void run(SimTime time, std::function<void()> action) {
    actions_.push_back(std::move(action));
    queue_.schedule(time, *this, 0, actions_.size() - 1);
  }
  void on_event(const simcore::Event& event) override { actions_[event.payload](); }

 private:
  simcore::EventQueue& queue_;
  std::vector<std::function<void()>> actions_;
};

}  // namespace

TEST_CASE("nothing starts before the last member arrives") {
  const Cluster cluster = make_cluster({.gpus = 4, .nvlink = 1e9});
  const SimTime alpha = SimTime::microseconds(1);
  BackendFixture f(cluster.graph, plain_tuning(alpha));
  At at(f.queue);
  const auto spec = collective(CollectiveKind::all_gather, 4'000);
  const auto world = f.backend.add_communicator(one_group(ranks_below(4)));
  for (const std::uint32_t member : {2u, 0u, 3u, 1u}) {
    at.run(SimTime::microseconds(10 * (member + 1)),
           [&f, &spec, world, member] { f.backend.arrive(world, member, spec); });
  }
  f.run();
  // The last at 40 us; three steps of 1 us; 3,000 bytes at 1 GB/s.
  for (std::uint32_t member = 0; member < 4; ++member) {
    CHECK(f.end_of(world, member) == SimTime::microseconds(46).picoseconds());
  }
  REQUIRE(f.records.size() == 1);
  const CollectiveRecord& record = f.records.front();
  CHECK(record.instance == world);
  CHECK(record.spec == &spec);
  CHECK(record.first_arrival == SimTime::microseconds(10));
  CHECK(record.last_arrival == SimTime::microseconds(40));
  CHECK(record.data_start == SimTime::microseconds(43));
  CHECK(record.end == SimTime::microseconds(46));
  CHECK(record.algorithm == "Ring");
  CHECK(record.protocol == "Simple");
  CHECK(record.flow_bytes == 3'000);
}

TEST_CASE("a prescribed time counts from the last arrival and uses no links") {
  const Cluster cluster = make_cluster({.gpus = 2});
  BackendFixture f(cluster.graph, plain_tuning(SimTime::microseconds(1)));
  At at(f.queue);
  auto spec = collective(CollectiveKind::all_gather, 1 << 30);
  spec.fixed_time = SimTime::microseconds(25);
  const auto world = f.backend.add_communicator(one_group({0, 1}));
  f.backend.arrive(world, 1, spec);
  at.run(SimTime::microseconds(5), [&] { f.backend.arrive(world, 0, spec); });
  f.run();
  CHECK(f.end_of(world, 0) == SimTime::microseconds(30).picoseconds());
  CHECK(f.end_of(world, 1) == SimTime::microseconds(30).picoseconds());
  CHECK(f.flows.counters().flows == 0);
  CHECK(f.backend.plan(world) == nullptr);
}

TEST_CASE("members may go straight on to the next collective") {
  const Cluster cluster = make_cluster({.gpus = 3, .nvlink = 1e9});
  class Loop final : public cuda::CollectiveListener {
   public:
    explicit Loop(BackendFixture& fixture) : f(fixture) { f.backend.attach(*this); }
    void member_finished(std::uint32_t instance, std::uint32_t member) override {
      if (++rounds[member] < 100) f.backend.arrive(instance, member, spec);
    }
    BackendFixture& f;
    cuda::CollectiveSpec spec = collective(CollectiveKind::all_reduce, 3'000);
    std::array<int, 3> rounds{};
  };
  BackendFixture f(cluster.graph, plain_tuning({}));
  Loop loop(f);
  const auto world = f.backend.add_communicator(one_group(ranks_below(3)));
  f.arrive_all(world, 3, loop.spec);
  f.run();
  CHECK(f.records.size() == 100);
  CHECK(loop.rounds == std::array{100, 100, 100});
  CHECK(f.queue.now() == SimTime::microseconds(100 * 4));  // 4,000 bytes at 1 GB/s each
}

TEST_CASE("members that meet with different collectives are named, and the communicator stands") {
  const Cluster cluster = make_cluster({.gpus = 4});
  BackendFixture f(cluster.graph, plain_tuning({}));
  const auto gather = collective(CollectiveKind::all_gather, 4'096);
  const auto scatter = collective(CollectiveKind::reduce_scatter, 8'192);
  const auto shard = f.backend.add_communicator(one_group({3, 1, 0, 2}, "shard"));
  f.backend.arrive(shard, 1, gather);
  f.backend.arrive(shard, 0, gather);
  CHECK(f.backend.failure(shard) == nullptr);
  f.backend.arrive(shard, 3, scatter);
  f.backend.arrive(shard, 2, gather);
  f.run();
  CHECK(f.ends.empty());
  REQUIRE(f.backend.failure(shard) != nullptr);
  const auto* mismatch = std::get_if<CollectiveMismatch>(f.backend.failure(shard));
  REQUIRE(mismatch != nullptr);
  CHECK(mismatch->instance == shard);
  CHECK(mismatch->first_rank == 1);
  CHECK(mismatch->other_rank == 2);
  CHECK(mismatch->first == gather);
  CHECK(mismatch->other == scatter);
  CHECK(to_text(*f.backend.failure(shard)) ==
        "ranks 1 and 2 disagree in communicator 'shard': rank 1 calls all_gather of 4096 bytes in "
        "bf16, rank 2 calls reduce_scatter of 8192 bytes in bf16");
}

TEST_CASE("sizes, element types and prescribed times must agree; CPU costs need not") {
  const Cluster cluster = make_cluster({.gpus = 2});
  const auto base = collective(CollectiveKind::all_gather, 4'096);
  auto size = base;
  size.bytes = Bytes{4'098};
  auto type = base;
  type.type = gpu::DataType::fp32;
  auto fixed = base;
  fixed.fixed_time = SimTime::microseconds(1);
  auto cost = base;
  cost.cpu_cost = SimTime::microseconds(9);
  cost.communicator = 3;
  for (const auto& [other, fails] :
       {std::pair{&size, true}, {&type, true}, {&fixed, true}, {&cost, false}}) {
    BackendFixture f(cluster.graph, plain_tuning({}));
    const auto world = f.backend.add_communicator(one_group({0, 1}));
    f.backend.arrive(world, 0, base);
    f.backend.arrive(world, 1, *other);
    f.run();
    CHECK((f.backend.failure(world) != nullptr) == fails);
    CHECK(f.ends.empty() == fails);
  }
}

TEST_CASE("ranks without a route are named before anything runs, or when it would") {
  Cluster cluster;
  for (int node = 0; node < 2; ++node) {
    const VertexId nvswitch = cluster.graph.add_vertex({DeviceKind::nvswitch, node, 0, 0});
    const VertexId gpu = cluster.graph.add_vertex({DeviceKind::gpu, node, 0, 0});
    join(cluster.graph, gpu, nvswitch, LinkKind::nvlink, 1e9, {});
  }
  BackendFixture f(cluster.graph, plain_tuning({}));
  const auto world = f.backend.add_communicator(one_group({0, 1}, "repl"));
  const auto prepared = f.backend.prepare(world);
  REQUIRE_FALSE(prepared.has_value());
  CHECK(prepared.error().role == "repl");
  CHECK(prepared.error().from_rank == 0);
  CHECK(prepared.error().to_rank == 1);
  const auto spec = collective(CollectiveKind::all_gather, 4'096);
  f.arrive_all(world, 2, spec);
  f.run();
  CHECK(f.ends.empty());
  REQUIRE(f.backend.failure(world) != nullptr);
  CHECK(to_text(*f.backend.failure(world)) ==
        "no route from rank 0 to rank 1 of communicator 'repl'");
}

TEST_CASE("collectives of different communicators run side by side") {
  const Cluster cluster = make_cluster({.gpus = 4, .nvlink = 1e9});
  BackendFixture f(cluster.graph, plain_tuning({}));
  const auto spec = collective(CollectiveKind::sendrecv, 1'000);
  const auto a = f.backend.add_communicator(one_group({0, 1}, "a"));
  const auto b = f.backend.add_communicator(one_group({2, 3}, "b"));
  f.arrive_all(a, 2, spec);
  f.arrive_all(b, 2, spec);
  f.run();
  CHECK(f.end_of(a) == SimTime::microseconds(1).picoseconds());
  CHECK(f.end_of(b) == SimTime::microseconds(1).picoseconds());
}

}  // namespace shardsim::nccl

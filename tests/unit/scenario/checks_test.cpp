// Each check is fed what a sound run would tell, and what no sound run can tell.
#include <doctest/doctest.h>

#include "models/cuda/program_recorder.hpp"
#include "models/scenario/checks/allocator_check.hpp"
#include "models/scenario/checks/collective_check.hpp"
#include "models/scenario/checks/flow_check.hpp"
#include "models/scenario/checks/message_check.hpp"
#include "models/scenario/checks/runtime_check.hpp"

namespace shardsim::scenario {
namespace {

using cuda::AllocatorActionKind;
using cuda::CollectiveKind;
using simcore::BitRate;
using simcore::Bytes;
using simcore::SimTime;

constexpr SimTime us(std::int64_t count) { return SimTime::microseconds(count); }

bool broken(const CheckLog& log, Invariant invariant) {
  return log.violation() && log.violation()->invariant == invariant;
}

/// Two GPUs, a link of 1 GB/s each way.
network::Graph two_gpus() {
  network::Graph graph;
  const auto a = graph.add_vertex({network::DeviceKind::gpu, 0, 0, 0});
  const auto b = graph.add_vertex({network::DeviceKind::gpu, 0, 1, 0});
  graph.add_link({a, b, network::LinkKind::nvlink, BitRate{1e9}, SimTime{}});
  graph.add_link({b, a, network::LinkKind::nvlink, BitRate{1e9}, SimTime{}});
  return graph;
}

struct Flows {
  network::Graph graph = two_gpus();
  CheckLog log;
  FlowCheck check{graph, log};
  std::vector<network::LinkUse> links{{0, 1.0}};

  void start(network::FlowId flow, double bytes, double cap = 0) {
    check.started(us(0), {flow, flow, bytes, BitRate{cap}, links});
  }
  void rate(SimTime now, double rate) {
    check.rates_found(now, [rate](network::FlowId) { return rate; });
  }
};

TEST_CASE("a flow that ends with its bytes moved is sound, one that ends early or late is not") {
  for (const auto& [end, sound] :
       {std::pair{us(1000), true}, {us(999), false}, {us(1001), false}}) {
    Flows flows;
    flows.start(0, 1e6);
    flows.rate(us(0), 1e9);
    flows.check.ended(end, 0);
    CHECK(broken(flows.log, Invariant::flow_bytes) == !sound);
  }
}

TEST_CASE("a flow's end comes once, and comes") {
  Flows flows;
  flows.start(0, 1e6);
  flows.rate(us(0), 1e9);
  flows.check.all_ended(us(10));
  CHECK(broken(flows.log, Invariant::flow_end));
  Flows twice;
  twice.start(0, 0);
  twice.check.ended(us(0), 0);
  CHECK(!twice.log.violation());
  twice.check.ended(us(0), 0);
  CHECK(broken(twice.log, Invariant::flow_end));
}

TEST_CASE("flows together may fill a link, not more, and less once it is degraded") {
  Flows flows;
  flows.start(0, 1e6);
  flows.start(1, 1e6);
  flows.rate(us(0), 0.5e9);
  CHECK(!flows.log.violation());
  flows.check.bandwidth_changed(0, 0.9e9);
  flows.rate(us(1), 0.5e9);
  CHECK(broken(flows.log, Invariant::link_capacity));
  CHECK(to_text(*flows.log.violation()).find("node[0].gpu[0]->node[0].gpu[1]") !=
        std::string::npos);
}

TEST_CASE("a flow keeps to its cap") {
  Flows flows;
  flows.start(0, 1e6, 1e8);
  flows.rate(us(0), 1.1e8);
  CHECK(broken(flows.log, Invariant::flow_cap));
}

TEST_CASE("a link has carried what its flows moved, since its statistics began") {
  Flows flows;
  flows.start(0, 2e6);
  flows.rate(us(0), 1e9);
  flows.check.statistics_begun(us(1000));
  flows.check.ended(us(2000), 0);
  flows.check.compare_link(us(2000), 0, 1e6);
  CHECK(!flows.log.violation());
  flows.check.compare_link(us(2000), 0, 1.01e6);
  CHECK(broken(flows.log, Invariant::link_bytes));
}

TEST_CASE("a flow that moves to other links has left the old ones what it moved over them") {
  for (const double left : {0.5e6, 0.6e6}) {
    Flows flows;
    flows.start(0, 1e6);
    flows.rate(us(0), 1e9);
    const std::vector<network::LinkUse> others{{1, 1.0}};
    flows.check.moved(us(500), {0, 0, left, BitRate{}, others});
    CHECK(broken(flows.log, Invariant::flow_bytes) == (left != 0.5e6));
  }
}

struct Collectives {
  network::Graph graph = two_gpus();
  CheckLog log;
  CollectiveCheck check{graph, true, log};
  nccl::CommunicatorSpec spec{"shard", {{0, 1}}, 2, {}};
  cuda::CollectiveSpec all_gather{CollectiveKind::all_gather, 0, Bytes{1000}, {}, {}, {}};
  std::vector<network::LinkUse> links{{0, 1.0}, {1, 1.0}};

  Collectives() { check.add_communicator(spec); }
  void arrive(std::uint32_t member, SimTime time) { check.arrived({0, member, time}); }
  void run(double bytes, SimTime end = us(20)) {
    check.flow_started({0, 0, bytes, BitRate{}, links});
    finish(bytes, end);
  }
  void finish(double bytes, SimTime end = us(20)) {
    nccl::CollectiveRecord record;
    record.spec = &all_gather;
    record.first_arrival = us(1);
    record.last_arrival = us(2);
    record.data_start = us(3);
    record.end = end;
    record.flow_bytes = bytes;
    check.finished(record);
  }
};

TEST_CASE("a collective ends after all members have come, once each, and in its order") {
  Collectives sound;
  sound.arrive(0, us(1));
  sound.arrive(1, us(2));
  sound.run(500);
  CHECK(!sound.log.violation());
  CHECK(sound.check.ended(0).size() == 1);
  Collectives absent;
  absent.arrive(0, us(1));
  absent.run(500);
  CHECK(broken(absent.log, Invariant::collective_members));
  Collectives twice;
  twice.arrive(0, us(1));
  twice.arrive(0, us(2));
  CHECK(broken(twice.log, Invariant::collective_members));
  Collectives early;
  early.arrive(0, us(1));
  early.arrive(1, us(2));
  early.run(500, us(2));
  CHECK(broken(early.log, Invariant::collective_order));
  Collectives late;
  late.arrive(0, us(1));
  late.arrive(1, us(5));
  late.run(500);
  CHECK(broken(late.log, Invariant::collective_order));
}

TEST_CASE("a collective's flow moves its bytes, and to each rank what it cannot do without") {
  Collectives other;
  other.arrive(0, us(1));
  other.arrive(1, us(2));
  other.check.flow_started({0, 0, 499, BitRate{}, other.links});
  other.finish(500);
  CHECK(broken(other.log, Invariant::collective_bytes));
  Collectives starved;
  starved.arrive(0, us(1));
  starved.arrive(1, us(2));
  starved.links = {{0, 1.0}, {1, 0.5}};
  starved.run(500);
  CHECK(broken(starved.log, Invariant::collective_parts));
}

/// Rank 0 of a program: K0 on the compute stream, an event after it, AG0 on another stream after
/// the event, and the CPU waits for AG0.
struct OneRank {
  cuda::Program program = record();
  cuda::KernelTimes times;
  CheckLog log;
  std::vector<cuda::RankSetup> ranks = setups();
  RuntimeCheck check{ranks, us(1), nullptr, log};

  static cuda::Program record() {
    cuda::ProgramRecorder recorder;
    const cuda::StreamId side = recorder.create_stream("side");
    const cuda::CommunicatorId id = recorder.create_communicator("world");
    recorder.begin_step();                                         // op 0
    recorder.launch(cuda::StreamId{0}, "K0", cuda::KernelSpec{});  // op 1
    const cuda::EventId event = recorder.record_event(cuda::StreamId{0});
    recorder.wait_event(side, event);
    cuda::CollectiveSpec collective;
    collective.communicator = id;
    recorder.launch(side, "AG0", collective);  // op 4
    recorder.synchronize_event(recorder.record_event(side), "wait");
    recorder.launch(cuda::StreamId{0}, "K1", cuda::KernelSpec{});  // op 7
    recorder.end_step();
    return recorder.finish();
  }
  std::vector<cuda::RankSetup> setups() const {
    cuda::RankSetup one;
    one.program = &program;
    one.communicators = {{0, 0}};
    return {one};
  }
  void run(std::uint32_t op, std::int64_t issue, std::int64_t start, std::int64_t end) {
    check.finished({0, op, us(issue), us(start), us(end), SimTime{}});
  }
};

TEST_CASE("operations that run in the order of streams, events and the CPU are sound") {
  OneRank rank;
  rank.check.step({0, 0, true, us(0)});
  rank.run(1, 0, 1, 10);
  rank.run(4, 0, 10, 20);
  rank.check.cpu_waited({0, 6, us(0), us(20)});
  rank.run(7, 20, 21, 30);
  rank.check.step({0, 0, false, us(30)});
  rank.check.all_ended(us(30), 1);
  CHECK(!rank.log.violation());
}

TEST_CASE("an operation that starts before its launch, its stream or its event is found") {
  OneRank launch;
  launch.run(1, 0, 0, 10);
  CHECK(broken(launch.log, Invariant::launch_order));
  OneRank event;
  event.run(1, 0, 1, 10);
  event.run(4, 0, 9, 20);
  CHECK(broken(event.log, Invariant::stream_order));
  OneRank never;
  never.run(4, 0, 9, 20);
  CHECK(broken(never.log, Invariant::stream_order));
}

TEST_CASE("a CPU that goes on before its event is found, by its wait and by what it issues") {
  OneRank rank;
  rank.run(1, 0, 1, 10);
  rank.run(4, 0, 10, 20);
  rank.check.cpu_waited({0, 6, us(0), us(19)});
  CHECK(broken(rank.log, Invariant::event_order_on_cpu));
  OneRank issues;
  issues.run(1, 0, 1, 10);
  issues.run(4, 0, 10, 20);
  issues.run(7, 19, 20, 30);
  CHECK(broken(issues.log, Invariant::event_order_on_cpu));
}

TEST_CASE("every operation ends once, and steps follow one another") {
  OneRank twice;
  twice.run(1, 0, 1, 10);
  twice.run(1, 0, 11, 12);
  CHECK(broken(twice.log, Invariant::operation_end));
  OneRank missing;
  missing.run(1, 0, 1, 10);
  missing.check.all_ended(us(10), 1);
  CHECK(broken(missing.log, Invariant::operation_end));
  OneRank step;
  step.check.step({0, 1, true, us(0)});
  CHECK(broken(step.log, Invariant::step_order));
}

TEST_CASE("a rank's kernel of a collective starts and ends with the collective") {
  for (const std::int64_t end : {20, 21}) {
    Collectives collectives;
    collectives.arrive(0, us(1));
    collectives.arrive(1, us(2));
    collectives.run(500);
    OneRank rank;
    RuntimeCheck check(rank.ranks, us(0), &collectives.check, rank.log);
    check.finished({0, 1, us(0), us(0), us(1), SimTime{}});
    check.finished({0, 4, us(0), us(1), us(end), SimTime{}});
    CHECK(broken(rank.log, Invariant::collective_at_ranks) == (end != 20));
  }
}

struct Memory {
  CheckLog log;
  AllocatorCheck check{0, log};

  void act(AllocatorActionKind kind, std::uint64_t address, std::int64_t bytes) {
    check.acted(us(0), {kind, 0, address, Bytes{bytes}});
  }
  void count(std::int64_t allocated, std::int64_t reserved) {
    check.counted(us(0), Bytes{allocated}, Bytes{reserved});
  }
  /// A segment of 4096 bytes with a block of 512.
  void allocate() {
    act(AllocatorActionKind::segment_alloc, 4096, 4096);
    act(AllocatorActionKind::alloc, 4096, 500);
    count(512, 4096);
  }
};

TEST_CASE("an allocator whose books balance is sound") {
  Memory memory;
  memory.allocate();
  memory.act(AllocatorActionKind::free_requested, 4096, 512);
  memory.act(AllocatorActionKind::free_completed, 4096, 512);
  memory.count(0, 4096);
  memory.act(AllocatorActionKind::segment_free, 4096, 4096);
  memory.count(0, 0);
  memory.check.compare(us(0), {});
  CHECK(!memory.log.violation());
}

TEST_CASE("blocks that overlap, lie nowhere, are freed twice or lose their segment are found") {
  Memory overlap;
  overlap.allocate();
  overlap.act(AllocatorActionKind::alloc, 4500, 100);
  CHECK(broken(overlap.log, Invariant::allocator_blocks));
  Memory nowhere;
  nowhere.act(AllocatorActionKind::alloc, 4096, 100);
  CHECK(broken(nowhere.log, Invariant::allocator_blocks));
  Memory twice;
  twice.allocate();
  twice.act(AllocatorActionKind::free_requested, 4096, 512);
  twice.act(AllocatorActionKind::free_requested, 4096, 512);
  CHECK(broken(twice.log, Invariant::allocator_blocks));
  Memory lost;
  lost.allocate();
  lost.act(AllocatorActionKind::segment_free, 4096, 4096);
  CHECK(broken(lost.log, Invariant::allocator_blocks));
}

TEST_CASE(
    "sums that differ from blocks and segments, and more allocated than reserved, are found") {
  Memory less;
  less.allocate();
  less.act(AllocatorActionKind::free_requested, 4096, 512);
  less.count(512, 4096);
  CHECK(broken(less.log, Invariant::allocator_balance));
  Memory reserved;
  reserved.allocate();
  reserved.count(512, 8192);
  CHECK(broken(reserved.log, Invariant::allocator_balance));
  Memory more;
  more.act(AllocatorActionKind::segment_alloc, 4096, 4096);
  more.act(AllocatorActionKind::alloc, 4096, 500);
  more.count(8192, 4096);
  CHECK(broken(more.log, Invariant::allocator_balance));
}

TEST_CASE("blocks that leave a gap in their segment, or that nobody was given, are found") {
  const auto snapshot = [](std::uint64_t second, cuda::BlockState state) {
    cuda::SegmentSnapshot segment;
    segment.address = 4096;
    segment.bytes = Bytes{4096};
    segment.blocks = {{4096, Bytes{512}, cuda::BlockState::allocated, {}},
                      {second, Bytes{3584}, state, {}}};
    return std::vector{segment};
  };
  Memory sound;
  sound.allocate();
  sound.check.compare(us(0), snapshot(4608, cuda::BlockState::cached));
  CHECK(!sound.log.violation());
  Memory gap;
  gap.allocate();
  gap.check.compare(us(0), snapshot(4609, cuda::BlockState::cached));
  CHECK(broken(gap.log, Invariant::allocator_tiles));
  Memory unknown;
  unknown.allocate();
  unknown.check.compare(us(0), snapshot(4608, cuda::BlockState::allocated));
  CHECK(broken(unknown.log, Invariant::allocator_tiles));
}

struct Messages {
  CheckLog log;
  MessageCheck check{"all_gather", [](int, int) { return std::int64_t{2}; }, log};

  void send(std::int64_t step, std::int64_t start, std::int64_t end, std::int64_t bytes = 100) {
    check.row({0, 0, 0, step, 0, 1, bytes, nccl::TraceAction::send}, {us(start), us(end)});
  }
  void receive(std::int64_t step, std::int64_t start, std::int64_t end, std::int64_t bytes = 100) {
    check.row({1, 0, 0, step, 0, 0, bytes, nccl::TraceAction::receive}, {us(start), us(end)});
  }
};

TEST_CASE("messages that arrive whole, in order and with room are sound, others are found") {
  Messages sound;
  for (const std::int64_t step : {0, 1, 2}) {
    sound.send(step, 10 * step, 10 * step + 5);
    sound.receive(step, 10 * step + 5, 10 * step + 8);
  }
  sound.check.finish(us(28));
  sound.check.expect_received(CollectiveKind::broadcast, 300, 2);
  CHECK(!sound.log.violation());
  sound.check.finish(us(27));
  CHECK(broken(sound.log, Invariant::message_order));

  Messages lost;
  lost.send(0, 0, 5);
  lost.check.finish(us(5));
  CHECK(broken(lost.log, Invariant::message_bytes));
  Messages cut;
  cut.send(0, 0, 5);
  cut.receive(0, 5, 6, 99);
  cut.check.finish(us(6));
  CHECK(broken(cut.log, Invariant::message_bytes));
  Messages early;
  early.send(0, 5, 6);
  early.receive(0, 4, 6);
  early.check.finish(us(6));
  CHECK(broken(early.log, Invariant::message_order));
  Messages crowded;
  for (const std::int64_t step : {0, 1, 2}) {
    crowded.send(step, step, step + 1);
    crowded.receive(step, 10 + step, 11 + step);
  }
  crowded.check.finish(us(13));
  CHECK(broken(crowded.log, Invariant::message_credit));
  Messages starved;
  starved.send(0, 0, 1);
  starved.receive(0, 1, 2);
  starved.check.expect_received(CollectiveKind::broadcast, 300, 2);
  CHECK(broken(starved.log, Invariant::collective_parts));
}

TEST_CASE("a violation names the invariant, the time, the place and both numbers") {
  CheckLog log;
  CHECK(!log.holds(Invariant::link_capacity, false));
  log.violated({Invariant::link_capacity, us(3), "leaf[0]->spine[1]", "51 bytes/s", "at most 50"});
  log.violated({Invariant::flow_bytes, us(4), "later", "1", "2"});
  CHECK(to_text(*log.violation()) ==
        "invariant 'link capacity' does not hold at 3 us for leaf[0]->spine[1]: found 51 bytes/s, "
        "expected at most 50");
  CHECK(to_text(log.summary(7)) == "1 invariants held over 7 events");
}

}  // namespace
}  // namespace shardsim::scenario

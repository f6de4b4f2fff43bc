#include "models/cuda/runtime.hpp"

#include <map>
#include <string>
#include <variant>

#include <doctest/doctest.h>

#include "models/cuda/program_recorder.hpp"
#include "tests/unit/cuda/fixed_time_backend.hpp"

namespace shardsim::cuda {
namespace {

using simcore::Bytes;
using simcore::SimTime;

SimTime us(std::int64_t count) { return SimTime::microseconds(count); }

KernelSpec kernel(std::int64_t time_us, std::int64_t cpu_us = 0) {
  return KernelSpec{KernelCategory::compute, gpu::FixedWork{us(time_us)}, us(cpu_us), false};
}

CollectiveSpec collective(CommunicatorId communicator, std::int64_t time_us) {
  CollectiveSpec spec;
  spec.communicator = communicator;
  spec.fixed_time = us(time_us);
  return spec;
}

struct Span {
  SimTime issue, start, end;
};

/// Runs programs, one a rank; instance i of the backend is communicator i of every program.
struct Run {
  explicit Run(std::vector<Program> given, RuntimeSpec given_spec = {})
      : programs(std::move(given)), spec(given_spec) {
    times.resize(programs.size());
    for (KernelTimes& one : times) one.by_load.resize(1);
    for (std::size_t slot = 0; slot < programs.size(); ++slot) {
      for (const KernelSpec& one : programs[slot].kernels) {
        const auto* fixed = std::get_if<gpu::FixedWork>(&one.work);
        times[slot].by_load[0].push_back(fixed != nullptr ? fixed->time : us(1));
      }
    }
  }

  void go() {
    std::vector<RankSetup> ranks;
    for (std::size_t slot = 0; slot < programs.size(); ++slot) {
      RankSetup setup;
      setup.rank = static_cast<int>(slot);
      setup.program = &programs[slot];
      setup.kernel_times = &times[slot];
      setup.compute_slowdown = slowdown.contains(slot) ? slowdown[slot] : 1.0;
      for (std::uint32_t i = 0; i < programs[slot].communicators.size(); ++i) {
        setup.communicators.push_back(Membership{i, static_cast<std::uint32_t>(slot)});
      }
      ranks.push_back(setup);
    }
    backend = std::make_unique<FixedTimeBackend>(
        queue, std::vector<std::uint32_t>(8, static_cast<std::uint32_t>(programs.size())));
    runtime = std::make_unique<Runtime>(spec, ranks, *backend, queue);
    runtime->op_finished.listen([this](const OpRecord& record) {
      const Program& program = programs[record.slot];
      spans[record.slot][program.names[program.ops[record.op].name]] =
          Span{record.cpu_issue, record.start, record.end};
    });
    runtime->step_boundary.listen([this](const StepRecord& step) {
      if (!step.begins) step_end = step.time;
    });
    runtime->start();
    while (queue.step()) {
    }
  }

  std::vector<Program> programs;
  RuntimeSpec spec;
  std::vector<KernelTimes> times;
  std::map<std::size_t, double> slowdown;
  simcore::EventQueue queue;
  std::unique_ptr<FixedTimeBackend> backend;
  std::unique_ptr<Runtime> runtime;
  std::map<std::uint32_t, std::map<std::string, Span>> spans;
  SimTime step_end;
};

TEST_CASE("kernels of one stream run back to back in issue order") {
  ProgramRecorder recorder;
  recorder.begin_step();
  recorder.launch(0, "a", kernel(3));
  recorder.launch(0, "b", kernel(4));
  recorder.end_step();
  Run run({recorder.finish()});
  run.go();
  CHECK(run.runtime->finished());
  CHECK(run.spans[0]["a"].start == us(0));
  CHECK(run.spans[0]["b"].start == us(3));
  CHECK(run.spans[0]["b"].end == us(7));
  CHECK(run.step_end == us(7));
}

TEST_CASE("a CPU slower than the GPU sets the pace, with the launch latency in front") {
  ProgramRecorder recorder;
  for (int i = 0; i < 10; ++i) recorder.launch(0, "k" + std::to_string(i), kernel(1, 5));
  RuntimeSpec spec;
  spec.launch_latency = us(2);
  Run run({recorder.finish()}, spec);
  run.go();
  CHECK(run.spans[0]["k0"].issue == us(5));
  CHECK(run.spans[0]["k0"].start == us(7));
  CHECK(run.spans[0]["k9"].start == us(52));
  CHECK(run.spans[0]["k9"].end == us(53));
}

TEST_CASE("a stream waits for the event and not for what is issued after it") {
  ProgramRecorder recorder;
  const StreamId side = recorder.create_stream("side");
  recorder.launch(0, "before", kernel(10));
  const EventId event = recorder.record_event(0);
  recorder.launch(0, "after", kernel(10));
  recorder.wait_event(side, event);
  recorder.launch(side, "waiting", kernel(1));
  Run run({recorder.finish()});
  run.go();
  CHECK(run.spans[0]["waiting"].start == us(10));
  CHECK(run.spans[0]["after"].start == us(10));
}

TEST_CASE("a communicator runs one collective at a time, in issue order, whatever the stream") {
  ProgramRecorder recorder;
  const StreamId side = recorder.create_stream("side");
  const CommunicatorId shard = recorder.create_communicator("shard");
  recorder.launch(0, "compute", kernel(10));
  recorder.launch(0, "first", collective(shard, 5));      // waits for compute
  recorder.launch(side, "second", collective(shard, 5));  // free to go, but second in line
  Run run({recorder.finish()});
  run.go();
  CHECK(run.spans[0]["first"].start == us(10));
  CHECK(run.spans[0]["second"].start == us(15));
  CHECK(run.spans[0]["second"].end == us(20));
}

TEST_CASE("collectives of different communicators overlap") {
  ProgramRecorder recorder;
  const StreamId side = recorder.create_stream("side");
  const CommunicatorId shard = recorder.create_communicator("shard");
  const CommunicatorId replica = recorder.create_communicator("repl");
  recorder.launch(0, "one", collective(shard, 5));
  recorder.launch(side, "two", collective(replica, 5));
  Run run({recorder.finish()});
  run.go();
  CHECK(run.spans[0]["two"].start == us(0));
}

TEST_CASE("a collective begins on the early rank and ends on all when the last has come") {
  const auto record = [] {
    ProgramRecorder recorder;
    const CommunicatorId world = recorder.create_communicator("world");
    recorder.launch(0, "work", kernel(10));
    recorder.launch(0, "reduce", collective(world, 4));
    return recorder.finish();
  };
  Run run({record(), record()});
  run.slowdown[1] = 1.5;
  run.go();
  CHECK(run.spans[0]["reduce"].start == us(10));
  CHECK(run.spans[1]["reduce"].start == us(15));
  CHECK(run.spans[0]["reduce"].end == us(19));
  CHECK(run.spans[1]["reduce"].end == us(19));
}

TEST_CASE("the CPU blocks in event synchronisation and issues the rest later") {
  ProgramRecorder recorder;
  recorder.launch(0, "a", kernel(10));
  recorder.synchronize_event(recorder.record_event(0));
  recorder.launch(0, "b", kernel(1));
  Run run({recorder.finish()});
  run.go();
  CHECK(run.spans[0]["b"].issue == us(10));
}

TEST_CASE("synchronising with an event that is long complete costs nothing") {
  ProgramRecorder recorder;
  recorder.launch(0, "a", kernel(2));
  const EventId event = recorder.record_event(0);
  recorder.cpu_work(us(50));
  recorder.synchronize_event(event);
  recorder.launch(0, "b", kernel(1));
  Run run({recorder.finish()});
  run.go();
  CHECK(run.spans[0]["b"].issue == us(50));
}

TEST_CASE("a full launch queue blocks the CPU until the GPU takes an operation") {
  ProgramRecorder recorder;
  for (int i = 0; i < 6; ++i) recorder.launch(0, "k" + std::to_string(i), kernel(10));
  RuntimeSpec spec;
  spec.launch_queue_depth = 2;
  Run run({recorder.finish()}, spec);
  run.go();
  CHECK(run.spans[0]["k1"].issue == us(0));
  CHECK(run.spans[0]["k5"].issue == us(30));
  CHECK(run.spans[0]["k5"].end == us(60));
}

TEST_CASE("a kernel beside a collective runs at the slower pace for just that time") {
  ProgramRecorder recorder;
  const StreamId side = recorder.create_stream("side");
  const CommunicatorId world = recorder.create_communicator("world");
  recorder.launch(side, "gather", collective(world, 10));
  recorder.launch(0, "work", kernel(20));
  Run run({recorder.finish()});
  run.times[0].by_load.push_back({us(40)});
  run.times[0].steps = {{1, 1}};
  run.go();
  // 10 us at half pace do 5 us of work; 15 us remain.
  CHECK(run.spans[0]["work"].end == us(25));
}

TEST_CASE("a collective that waits for its peers slows a kernel less than one that moves data") {
  std::vector<Program> programs;
  for (const std::int64_t late : {0, 10}) {
    ProgramRecorder recorder;
    const StreamId side = recorder.create_stream("side");
    const CommunicatorId world = recorder.create_communicator("world");
    if (late > 0) recorder.launch(side, "late", kernel(late));
    recorder.launch(side, "gather", collective(world, 10));
    recorder.launch(0, "work", kernel(20));
    programs.push_back(recorder.finish());
  }
  Run run(std::move(programs));
  run.times[0].by_load = {{us(20)}, {us(25)}, {us(40)}};
  run.times[0].steps = {{1, 2}};
  run.times[1].by_load.resize(3, run.times[1].by_load[0]);
  run.times[1].steps = {{1, 2}};
  run.go();
  // Rank 0 waits for 10 us (8 us of work), then moves data for 10 us (5 us of work); 7 us remain.
  CHECK(run.spans[0]["gather"].start == us(0));
  CHECK(run.spans[0]["gather"].end == us(20));
  CHECK(run.spans[0]["work"].end == us(27));
}

TEST_CASE("each set of running collectives has its own pace") {
  ProgramRecorder recorder;
  const StreamId one = recorder.create_stream("one");
  const StreamId two = recorder.create_stream("two");
  const CommunicatorId shard = recorder.create_communicator("shard");
  const CommunicatorId replica = recorder.create_communicator("repl");
  recorder.launch(one, "a", collective(shard, 10));
  recorder.launch(two, "b", collective(replica, 20));
  recorder.launch(0, "work", kernel(20));
  Run run({recorder.finish()});
  run.times[0].by_load = {{us(20)}, {us(30)}, {us(40)}, {us(80)}};
  run.times[0].steps = {{1, 1}, {2, 2}};
  run.go();
  // 10 us beside both do 1/8, 10 us beside b 1/4, the other 5/8 alone.
  CHECK(run.spans[0]["work"].end == SimTime::nanoseconds(32'500));
}

TEST_CASE("several launches in one operation cannot end before the last was issued") {
  ProgramRecorder recorder;
  KernelSpec eager;
  eager.work = gpu::MemoryBoundWork{gpu::MemoryBoundKind::stream, Bytes{1}, 4};
  eager.cpu_cost = us(40);
  recorder.launch(0, "eager", eager);
  Run run({recorder.finish()});
  run.times[0].by_load = {{us(8)}};
  run.go();
  CHECK(run.spans[0]["eager"].start == us(10));
  CHECK(run.spans[0]["eager"].end == us(42));
}

TEST_CASE("a block used by another stream is not reused before that stream is done with it") {
  const auto record = [](bool wait) {
    ProgramRecorder recorder;
    const StreamId side = recorder.create_stream("side");
    const TensorId first = recorder.allocate(Bytes{64 << 20}, 0, MemoryKind::other, "first");
    recorder.launch(side, "use", kernel(100));
    recorder.record_stream(first, side);
    recorder.free(first);
    if (wait) recorder.synchronize_device();
    recorder.allocate(Bytes{64 << 20}, 0, MemoryKind::other, "second");
    return recorder.finish();
  };
  Run early({record(false)});
  early.go();
  CHECK(early.runtime->memory(0).peak_reserved == Bytes{128 << 20});
  Run late({record(true)});
  late.go();
  CHECK(late.runtime->memory(0).peak_reserved == Bytes{64 << 20});
}

TEST_CASE("an allocator short of memory makes the CPU wait for blocks in use elsewhere") {
  ProgramRecorder recorder;
  const StreamId side = recorder.create_stream("side");
  const TensorId first = recorder.allocate(Bytes{64 << 20}, side, MemoryKind::other, "first");
  recorder.launch(0, "use", kernel(100));
  recorder.record_stream(first, 0);
  recorder.free(first);
  recorder.allocate(Bytes{64 << 20}, 0, MemoryKind::other, "second");
  recorder.launch(0, "next", kernel(1));
  RuntimeSpec spec;
  spec.memory_capacity = Bytes{100 << 20};
  Run run({recorder.finish()}, spec);
  run.go();
  REQUIRE(run.runtime->finished());
  CHECK(run.spans[0]["next"].issue == us(100));
  CHECK(run.runtime->memory(0).num_alloc_retries == 1);
}

TEST_CASE("running out of memory is a result that names the request") {
  ProgramRecorder recorder;
  recorder.allocate(Bytes{64 << 20}, 0, MemoryKind::activations, "kept");
  recorder.allocate(Bytes{64 << 20}, 0, MemoryKind::activations, "too much");
  RuntimeSpec spec;
  spec.memory_capacity = Bytes{100 << 20};
  Run run({recorder.finish()}, spec);
  run.go();
  CHECK_FALSE(run.runtime->finished());
  REQUIRE(run.runtime->out_of_memory());
  CHECK(run.runtime->out_of_memory()->shortage.requested == Bytes{64 << 20});
}

TEST_CASE("ranks that issue collectives in different order are reported, each with its wait") {
  const auto record = [](bool swapped) {
    ProgramRecorder recorder;
    const StreamId side = recorder.create_stream("side");
    const CommunicatorId one = recorder.create_communicator("one");
    const CommunicatorId two = recorder.create_communicator("two");
    recorder.launch(0, swapped ? "B" : "A", collective(swapped ? two : one, 1));
    recorder.wait_stream(side, 0);
    recorder.launch(side, swapped ? "A" : "B", collective(swapped ? one : two, 1));
    return recorder.finish();
  };
  Run run({record(false), record(true)});
  run.go();
  CHECK_FALSE(run.runtime->finished());
  const auto report = run.runtime->deadlock_report();
  REQUIRE(report.size() == 4);
  CHECK(report[0] == "A on communicator one is waiting for its peers: rank 1");
  CHECK(report[1] == "B on communicator two is waiting for its peers: rank 0");
  CHECK(report[2].find("in A on communicator one") != std::string::npos);
  CHECK(report[3].find("in B on communicator two") != std::string::npos);
}

}  // namespace
}  // namespace shardsim::cuda

#include "models/cuda/lockstep_run.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "models/cuda/program_recorder.hpp"
#include "models/cuda/replay_backend.hpp"
#include "simcore/random.hpp"
#include "tests/unit/cuda/fixed_time_backend.hpp"

namespace shardsim::cuda {
namespace {

using simcore::SimTime;

SimTime us(std::uint64_t count) { return SimTime::microseconds(static_cast<std::int64_t>(count)); }

/// A program of random launches on a few streams, with collectives of one communicator.
Program random_program(simcore::RandomStream& random) {
  ProgramRecorder recorder;
  const StreamId side = recorder.create_stream("side");
  const StreamId third = recorder.create_stream("third");
  const CommunicatorId world = recorder.create_communicator("world");
  const StreamId streams[] = {ProgramRecorder::compute_stream, side, third};
  for (int step = 0; step < 2; ++step) {
    recorder.begin_step();
    std::vector<EventId> events;
    for (int i = 0; i < 60; ++i) {
      const StreamId stream = streams[random.below(3)];
      switch (random.below(8)) {
        case 0: {
          CollectiveSpec spec;
          spec.communicator = world;
          spec.kind =
              random.below(2) == 0 ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter;
          spec.fixed_time = us(5 + random.below(40));
          spec.cpu_cost = us(random.below(3));
          recorder.launch(random.below(2) == 0 ? side : third, "c", spec);
          break;
        }
        case 1:
          events.push_back(recorder.record_event(stream));
          break;
        case 2:
          if (!events.empty()) recorder.wait_event(stream, events[random.below(events.size())]);
          break;
        case 3:
          if (!events.empty() && random.below(4) == 0) {
            recorder.synchronize_event(events[random.below(events.size())]);
          }
          break;
        case 4:
          recorder.cpu_work(us(random.below(6)));
          break;
        default: {
          KernelSpec kernel;
          kernel.cpu_cost = us(random.below(4));
          kernel.work = gpu::FixedWork{us(1 + random.below(30))};
          if (random.below(5) == 0) {
            kernel.work = gpu::MemoryBoundWork{gpu::MemoryBoundKind::stream,
                                               simcore::Bytes{static_cast<std::int64_t>(i)}, 3};
          }
          recorder.launch(stream, "k", kernel);
        }
      }
    }
    recorder.end_step();
  }
  return recorder.finish();
}

KernelTimes random_times(const Program& program, simcore::RandomStream& random) {
  KernelTimes times;
  times.by_load.resize(5);
  for (std::size_t kernel = 0; kernel < program.kernels.size(); ++kernel) {
    const std::uint64_t alone = 1 + random.below(30);
    for (std::size_t load = 0; load < 5; ++load) {
      times.by_load[load].push_back(SimTime::nanoseconds(
          static_cast<std::int64_t>(alone * 1000 * (10 + load) / 10 + random.below(7))));
    }
  }
  for (const CollectiveSpec& spec : program.collectives) {
    times.steps.push_back(spec.kind == CollectiveKind::all_gather ? LoadStep{1, 2}
                                                                  : LoadStep{3, 4});
  }
  return times;
}

struct Setup {
  Program program;
  KernelTimes times;
  std::vector<RankPace> paces;
  std::vector<RankSetup> ranks;
  RuntimeSpec spec;
};

std::unique_ptr<Setup> random_setup(std::uint64_t seed) {
  simcore::RandomStream random(seed, "lockstep");
  auto made = std::make_unique<Setup>();
  made->program = random_program(random);
  made->times = random_times(made->program, random);
  made->spec.launch_latency = us(random.below(3));
  made->spec.launch_queue_depth = static_cast<std::uint32_t>(random.below(2) == 0 ? 6 : 1024);
  const std::uint64_t ranks = 1 + random.below(70);
  made->paces.resize(ranks);
  for (std::uint32_t slot = 0; slot < ranks; ++slot) {
    made->paces[slot].add_jitter({Distribution::normal, 0.1, seed}, static_cast<int>(slot));
    RankSetup setup;
    setup.rank = static_cast<int>(slot);
    setup.program = &made->program;
    setup.kernel_times = &made->times;
    setup.compute_slowdown = random.below(4) == 0 ? 1.25 : 1.0;
    setup.pace = random.below(3) == 0 ? nullptr : &made->paces[slot];
    setup.communicators = {{0, slot}};
    made->ranks.push_back(setup);
  }
  return made;
}

struct Outcome {
  std::vector<std::vector<SimTime>> begins;
  std::vector<std::vector<SimTime>> ends;
  std::vector<OpRecord> records;
};

Outcome run_events(const Setup& setup, const std::vector<RankSetup>& ranks,
                   CollectiveBackend& backend, simcore::EventQueue& queue) {
  Outcome outcome;
  outcome.begins.assign(setup.program.step_count, std::vector<SimTime>(ranks.size()));
  outcome.ends = outcome.begins;
  Runtime runtime(setup.spec, ranks, backend, queue);
  runtime.step_boundary.listen([&](const StepRecord& record) {
    (record.begins ? outcome.begins : outcome.ends)[record.step][record.slot] = record.time;
  });
  runtime.op_finished.listen([&](const OpRecord& record) { outcome.records.push_back(record); });
  runtime.start();
  while (queue.step()) {
  }
  CHECK(runtime.finished());
  return outcome;
}

TEST_CASE("operation by operation gives the same times as event by event") {
  int planned = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    const auto setup = random_setup(seed);
    const auto members = static_cast<std::uint32_t>(setup->ranks.size());
    simcore::EventQueue events;
    FixedTimeBackend event_backend(events, {members});
    const Outcome expected = run_events(*setup, setup->ranks, event_backend, events);

    simcore::EventQueue queue;
    FixedTimeBackend backend(queue, {members});
    const auto run = LockstepRun::make(setup->spec, setup->ranks, backend, queue);
    if (!run) continue;
    ++planned;
    while (run->advance()) {
    }
    REQUIRE(run->finished());
    CHECK(run->step_begins() == expected.begins);
    CHECK(run->step_ends() == expected.ends);

    // One rank alone, beside the collectives' times.
    simcore::EventQueue alone;
    const std::uint32_t chosen = members / 2;
    RankSetup rank = setup->ranks[chosen];
    rank.communicators[0].member = 0;
    ReplayBackend replay(alone, run->collectives(), 1);
    const Outcome again = run_events(*setup, {rank}, replay, alone);
    std::vector<SimTime> ends;
    std::vector<SimTime> expected_ends;
    for (const OpRecord& record : again.records) ends.push_back(record.end);
    for (const OpRecord& record : expected.records) {
      if (record.slot == chosen) expected_ends.push_back(record.end);
    }
    CHECK(ends == expected_ends);
  }
  CHECK(planned >= 140);
}

TEST_CASE("ranks that pause, and programs with two communicators, are not run in lockstep") {
  const auto setup = random_setup(3);
  simcore::EventQueue queue;
  FixedTimeBackend backend(queue, {static_cast<std::uint32_t>(setup->ranks.size())});
  REQUIRE(LockstepRun::make(setup->spec, setup->ranks, backend, queue));
  RankPace paused;
  paused.add_pause({us(5), us(5)});
  auto ranks = setup->ranks;
  ranks[0].pace = &paused;
  CHECK_FALSE(LockstepRun::make(setup->spec, ranks, backend, queue));

  ProgramRecorder recorder;
  recorder.begin_step();
  for (const char* role : {"shard", "repl"}) {
    CollectiveSpec spec;
    spec.communicator = recorder.create_communicator(role);
    recorder.launch(0, "c", spec);
  }
  recorder.end_step();
  CHECK_FALSE(plan_lockstep(recorder.finish(), setup->spec, nullptr));
}

}  // namespace
}  // namespace shardsim::cuda

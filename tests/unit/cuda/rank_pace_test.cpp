#include "models/cuda/rank_pace.hpp"

#include <cmath>

#include <doctest/doctest.h>

#include "models/cuda/program_recorder.hpp"
#include "models/cuda/runtime.hpp"
#include "tests/unit/cuda/fixed_time_backend.hpp"

namespace shardsim::cuda {
namespace {

using simcore::SimTime;

SimTime us(std::int64_t count) { return SimTime::microseconds(count); }

TEST_CASE("every distribution has mean 1 and the deviation that was asked for") {
  for (const Distribution kind : {Distribution::normal, Distribution::lognormal,
                                  Distribution::exponential, Distribution::uniform}) {
    CAPTURE(static_cast<int>(kind));
    const Jitter jitter{kind, 0.1, 0};
    // The midpoint rule over the quantiles.
    constexpr int points = 200'000;
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < points; ++i) {
      const double factor = jitter.factor_at((i + 0.5) / points);
      CHECK(factor >= 0);
      sum += factor;
      squares += factor * factor;
    }
    const double mean = sum / points;
    CHECK(mean == doctest::Approx(1).epsilon(1e-4));
    CHECK(std::sqrt(squares / points - mean * mean) == doctest::Approx(0.1).epsilon(2e-3));
  }
}

TEST_CASE("a draw depends on seed, rank and operation, and on no draw before it") {
  RankPace one;
  RankPace again;
  RankPace other_rank;
  RankPace other_seed;
  one.add_jitter({Distribution::normal, 0.1, 1}, 5);
  again.add_jitter({Distribution::normal, 0.1, 1}, 5);
  other_rank.add_jitter({Distribution::normal, 0.1, 1}, 6);
  other_seed.add_jitter({Distribution::normal, 0.1, 2}, 5);
  for (std::uint32_t op = 0; op < 50; ++op) static_cast<void>(one.factor(op));
  CHECK(one.factor(77) == again.factor(77));
  CHECK(one.factor(77) != one.factor(78));
  CHECK(one.factor(77) != other_rank.factor(77));
  CHECK(one.factor(77) != other_seed.factor(77));
}

TEST_CASE("jitter of zero is none") {
  RankPace pace;
  pace.add_jitter({Distribution::lognormal, 0, 1}, 0);
  CHECK_FALSE(pace.has_jitter());
  CHECK(pace.factor(3) == 1);
}

TEST_CASE("work goes on after a pause where it was") {
  RankPace pace;
  pace.add_pause({us(10), us(5)});
  pace.add_pause({us(12), us(8)});  // overlaps: together 10 to 20
  CHECK(pace.after(us(0), us(10)) == us(10));
  CHECK(pace.after(us(0), us(11)) == us(21));
  CHECK(pace.after(us(15), us(0)) == us(20));
  CHECK(pace.after(us(20), us(3)) == us(23));
  CHECK(pace.worked(us(0), us(30)) == us(20));
  CHECK(pace.worked(us(12), us(18)) == us(0));
  pace.die_at(us(40));
  CHECK(pace.after(us(30), us(5)) == us(35));
  CHECK(pace.after(us(30), us(11)) == SimTime::never());
  CHECK(pace.dies() == us(40));
}

TEST_CASE("a pause holds a kernel and the CPU back by its length; a dead rank is waited for") {
  const auto run = [](const RankPace* pace) {
    ProgramRecorder recorder;
    const CommunicatorId world = recorder.create_communicator("world");
    recorder.begin_step();
    KernelSpec kernel{KernelCategory::compute, gpu::FixedWork{us(10)}, us(1), false};
    for (int i = 0; i < 3; ++i) recorder.launch(0, "k", kernel);
    CollectiveSpec spec;
    spec.communicator = world;
    spec.fixed_time = us(5);
    recorder.launch(0, "gather", spec);
    recorder.end_step();
    const Program program = recorder.finish();
    KernelTimes times;
    times.by_load = {{us(10)}};
    std::vector<RankSetup> ranks(2);
    for (std::uint32_t slot = 0; slot < 2; ++slot) {
      ranks[slot].rank = static_cast<int>(slot);
      ranks[slot].program = &program;
      ranks[slot].kernel_times = &times;
      ranks[slot].communicators = {{0, slot}};
    }
    ranks[1].pace = pace;
    simcore::EventQueue queue;
    FixedTimeBackend backend(queue, {2});
    Runtime runtime(RuntimeSpec{}, ranks, backend, queue);
    SimTime end;
    runtime.step_boundary.listen([&](const StepRecord& record) {
      if (!record.begins && record.slot == 0) end = record.time;
    });
    runtime.start();
    while (queue.step()) {
    }
    return std::pair(runtime.finished() ? end : SimTime::never(), runtime.deadlock_report());
  };
  const auto usual = run(nullptr);
  CHECK(usual.first == us(36));
  RankPace paused;
  paused.add_pause({us(15), us(7)});
  CHECK(run(&paused).first == us(43));
  RankPace dead;
  dead.die_at(us(15));
  const auto report = run(&dead);
  CHECK(report.first == SimTime::never());
  REQUIRE(report.second.size() == 3);
  CHECK(report.second[0].find("is waiting for its peers: rank 1") != std::string::npos);
  CHECK(report.second[1].find("waiting for its peers") != std::string::npos);
  CHECK(report.second[2].find("died at 15 us") != std::string::npos);
}

}  // namespace
}  // namespace shardsim::cuda

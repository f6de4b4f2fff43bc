// Memory over a step: kinds, the peak's owner, thinning and the picture.
#include "models/scenario/memory_timeline.hpp"

#include <doctest/doctest.h>

#include "models/cuda/program_recorder.hpp"
#include "simcore/random.hpp"

namespace shardsim::scenario {
namespace {

using simcore::Bytes;
using simcore::SimTime;

MemoryPoint point(std::int64_t nanoseconds, std::int64_t allocated, std::int64_t reserved = 0) {
  MemoryPoint made;
  made.time = SimTime::nanoseconds(nanoseconds);
  made.device_time = made.time;
  made.allocated = Bytes{allocated};
  made.reserved = Bytes{reserved};
  return made;
}

/// Two steps, each with a gathered parameter for AG3 and an activation for layers.3.norm.
struct SmallProgram {
  SmallProgram() {
    cuda::ProgramRecorder recorder;
    for (int step = 0; step < 2; ++step) {
      recorder.begin_step();
      const auto gathered = recorder.allocate(Bytes{4096}, 0, cuda::MemoryKind::gathered_parameters,
                                              "all-gather output");
      recorder.launch(0, "AG3", cuda::KernelSpec{});
      const auto activation =
          recorder.allocate(Bytes{512}, 0, cuda::MemoryKind::activations, "norm");
      recorder.launch(0, "layers.3.norm", cuda::KernelSpec{});
      recorder.free(gathered);
      recorder.free(activation);
      recorder.end_step();
    }
    program = recorder.finish();
    for (std::uint32_t op = 0; op < program.ops.size(); ++op) {
      const cuda::OpCode code = program.ops[op].code;
      if (code == cuda::OpCode::allocate || code == cuda::OpCode::free) changes.push_back(op);
      if (code == cuda::OpCode::step_begin) begins.push_back(op);
    }
  }
  /// The log of step 1, in which `before` bytes of parameters were there.
  MemoryLog log(std::int64_t before) const {
    MemoryLog made;
    made.program = &program;
    made.step = 1;
    made.first_op = begins[1];
    made.begin = SimTime::microseconds(100);
    made.reserved_at_begin = Bytes{8192};
    made.allocated_at_begin[static_cast<std::size_t>(cuda::MemoryKind::parameters)] = Bytes{before};
    const std::int64_t states[] = {before + 4096, before + 4608, before + 512, before};
    for (std::size_t i = 0; i < 4; ++i) {
      const SimTime at = SimTime::microseconds(101 + static_cast<std::int64_t>(i));
      made.changes.push_back({changes[4 + i], at, Bytes{states[i]}, Bytes{8192}});
    }
    made.peak = Bytes{before + 4608};
    made.peak_op = changes[1];  // the step before came as high
    return made;
  }

  cuda::Program program;
  std::vector<std::uint32_t> changes;
  std::vector<std::uint32_t> begins;
};

TEST_CASE("each point's kinds add up to what is allocated, from what the step began with") {
  const SmallProgram small;
  const MemoryTimeline timeline = make_memory_timeline(small.log(1024), nullptr);
  REQUIRE(timeline.points.size() == 5);
  for (const MemoryPoint& at : timeline.points) {
    Bytes sum;
    for (const Bytes bytes : at.by_kind) sum += bytes;
    CHECK(sum == at.allocated);
  }
  CHECK(timeline.points[0].allocated == Bytes{1024});
  const auto& peak = timeline.points[2];
  CHECK(peak.by_kind[static_cast<std::size_t>(cuda::MemoryKind::parameters)] == Bytes{1024});
  CHECK(peak.by_kind[static_cast<std::size_t>(cuda::MemoryKind::gathered_parameters)] ==
        Bytes{4096});
  CHECK(peak.by_kind[static_cast<std::size_t>(cuda::MemoryKind::activations)] == Bytes{512});
  CHECK(peak.time == SimTime::microseconds(2));
}

TEST_CASE("the peak names its allocation, the operation it is for, and the unit") {
  const SmallProgram small;
  const MemoryTimeline timeline = make_memory_timeline(small.log(0), nullptr);
  REQUIRE(timeline.peak);
  CHECK(timeline.peak->allocated == Bytes{4608});
  CHECK(timeline.peak->allocation == "norm");
  CHECK(timeline.peak->kind == cuda::MemoryKind::activations);
  CHECK(timeline.peak->operation == "layers.3.norm");
  CHECK(timeline.peak->unit == "3");
  // The measured step comes as high as the one before: the peak is told where it can be seen.
  CHECK(timeline.peak->step == 1);
  CHECK(timeline.peak->time == SimTime::microseconds(2));
}

TEST_CASE("a peak of an earlier step is told with its step and without a time") {
  const SmallProgram small;
  MemoryLog log = small.log(0);
  log.peak = Bytes{1 << 20};
  log.peak_op = small.changes[0];
  const MemoryTimeline timeline = make_memory_timeline(log, nullptr);
  REQUIRE(timeline.peak);
  CHECK(timeline.peak->step == 0);
  CHECK_FALSE(timeline.peak->time);
  CHECK(timeline.peak->operation == "AG3");
}

TEST_CASE("a run that allocates nothing has no peak and no points") {
  const SmallProgram small;
  MemoryLog log = small.log(0);
  log.peak = Bytes{};
  const MemoryTimeline timeline = make_memory_timeline(log, nullptr);
  CHECK_FALSE(timeline.peak);
  CHECK(timeline.points.empty());
}

TEST_CASE("the device's time is the start of the next operation of the compute stream") {
  const SmallProgram small;
  StepLog step;
  step.program = &small.program;
  step.first_op = small.begins[1];
  step.last_op = static_cast<std::uint32_t>(small.program.ops.size() - 1);
  step.begin = SimTime::microseconds(100);
  step.end = SimTime::microseconds(200);
  for (std::uint32_t op = step.first_op; op <= step.last_op; ++op) {
    cuda::OpRecord record{0, op, {}, {}, SimTime::never(), {}};
    if (small.program.ops[op].code == cuda::OpCode::kernel) {
      const bool first = small.program.names[small.program.ops[op].name] == "AG3";
      record.start = SimTime::microseconds(first ? 110 : 150);
      record.end = SimTime::microseconds(first ? 150 : 200);
    }
    step.ops.push_back(record);
  }
  const auto points = make_memory_timeline(small.log(0), &step).points;
  CHECK(points[1].device_time == SimTime::microseconds(10));
  CHECK(points[2].device_time == SimTime::microseconds(50));
  CHECK(points[3].device_time == SimTime::microseconds(100));  // after the last kernel
}

TEST_CASE("thinning out keeps both ends, both peaks and each stretch's extremes") {
  simcore::RandomStream random(7, "memory timeline");
  std::vector<MemoryPoint> points;
  for (std::int64_t i = 0; i < 10'000; ++i) {
    points.push_back(point(i, static_cast<std::int64_t>(random.uniform() * 1e9),
                           static_cast<std::int64_t>(random.uniform() * 1e9)));
  }
  points[1234].allocated = Bytes{2'000'000'000};
  points[1235].allocated = Bytes{0};
  points[8765].reserved = Bytes{2'000'000'000};
  const auto thin = thin_out(points, 400);
  CHECK(thin.size() <= 400);
  CHECK(thin.size() > 390);
  CHECK(thin.front().time == points.front().time);
  CHECK(thin.back().time == points.back().time);
  std::int64_t allocated = 0;
  std::int64_t reserved = 0;
  std::int64_t lowest = 1;
  for (std::size_t i = 0; i < thin.size(); ++i) {
    if (i > 0) CHECK(thin[i - 1].time < thin[i].time);
    allocated = std::max(allocated, thin[i].allocated.count);
    reserved = std::max(reserved, thin[i].reserved.count);
    lowest = std::min(lowest, thin[i].allocated.count);
  }
  CHECK(allocated == 2'000'000'000);
  CHECK(reserved == 2'000'000'000);
  CHECK(lowest == 0);
}

TEST_CASE("few points are kept as they are") {
  const std::vector<MemoryPoint> points{point(0, 1), point(1, 2), point(2, 1)};
  CHECK(thin_out(points, 8).size() == 3);
  CHECK(thin_out({}, 8).empty());
}

TEST_CASE("a column of the picture shows the most that was allocated in its time") {
  const std::vector<MemoryPoint> points{point(0, 10), point(25, 30), point(26, 20), point(75, 5)};
  const auto columns = memory_over_step(points, SimTime::nanoseconds(100), 4);
  CHECK(columns == std::vector<Bytes>{Bytes{10}, Bytes{30}, Bytes{20}, Bytes{20}});
}

TEST_CASE("a unit is found in module paths and in names of collectives") {
  CHECK(unit_in_name("layers.31.feed_forward.w2") == "31");
  CHECK(unit_in_name("transformer.h.5.attn") == "5");
  CHECK(unit_in_name("AG12") == "12");
  CHECK(unit_in_name("AGR") == "R");
  CHECK(unit_in_name("layers.12.all_gather") == "12");
  CHECK(unit_in_name("root.all_gather_copy_in") == "R");
  CHECK(unit_in_name("bucket3.reduce_scatter").empty());
  CHECK(unit_in_name("root").empty());
  CHECK(unit_in_name("loss.backward").empty());
  CHECK(unit_in_name("optimizer").empty());
  CHECK(unit_in_name("7").empty());
  CHECK(unit_in_name("").empty());
}

}  // namespace
}  // namespace shardsim::scenario

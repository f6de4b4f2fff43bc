#include "models/training/zero12.hpp"

#include <doctest/doctest.h>

#include "tests/unit/training/program_inspection.hpp"
#include "tests/unit/training/sized_workload.hpp"
#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {
namespace {

using cuda::CollectiveKind;
using cuda::MemoryKind;

constexpr std::int64_t ranks = 8;
constexpr int blocks = 2;
constexpr std::int64_t parameter = 4 * 1024;                          // two in each block
constexpr std::int64_t all_elements = 2 * parameter + 4 * parameter;  // the root has one of twice

TrainingSpec stage(int number) {
  TrainingSpec spec;
  spec.strategy = number == 1 ? Strategy::zero1 : Strategy::zero2;
  spec.zero.reduce_bucket_size = 2 * parameter;
  return spec;
}

std::vector<InspectedStep> record(const TrainingSpec& spec, int accumulation = 1, int steps = 2) {
  SizedWorkload workload(blocks, 8, 4);
  return inspect(record_program(spec, workload, {ranks, ranks, 1}, accumulation, steps));
}

using Order = std::vector<std::string>;

TEST_CASE("stage 2 reduces a bucket as the next gradient overflows it, then the rest") {
  CHECK(record(stage(2))[1].order == Order{"embF",
                                           "F0",
                                           "F1",
                                           "headF",
                                           "headB",
                                           "B1",
                                           "to_bucket1",
                                           "to_bucket1",
                                           "B0",
                                           "bucket0.divide",
                                           "bucket0.flatten",
                                           "bucket0.all_reduce",
                                           "bucket0.own_part",
                                           "to_bucket0",
                                           "to_bucket0",
                                           "embB",
                                           "bucket1.divide",
                                           "bucket1.flatten",
                                           "bucket1.all_reduce",
                                           "bucket1.own_part",
                                           "to_bucketR",
                                           "bucket2.divide",
                                           "bucket2.flatten",
                                           "bucket2.all_reduce",
                                           "bucket2.own_part",
                                           "widen_gradient",
                                           "OPT",
                                           "narrow_parameters",
                                           "parameters.all_gather"});
}

TEST_CASE("stage 1 reduces after backward") {
  CHECK(record(stage(1))[1].order == Order{"embF",
                                           "F0",
                                           "F1",
                                           "headF",
                                           "headB",
                                           "B1",
                                           "B0",
                                           "embB",
                                           "to_bucketR",
                                           "bucket0.divide",
                                           "bucket0.flatten",
                                           "bucket0.all_reduce",
                                           "bucket0.own_part",
                                           "to_bucket0",
                                           "to_bucket0",
                                           "bucket1.divide",
                                           "bucket1.flatten",
                                           "bucket1.all_reduce",
                                           "bucket1.own_part",
                                           "to_bucket1",
                                           "to_bucket1",
                                           "bucket2.divide",
                                           "bucket2.flatten",
                                           "bucket2.all_reduce",
                                           "bucket2.own_part",
                                           "widen_gradient",
                                           "OPT",
                                           "narrow_parameters",
                                           "parameters.all_gather"});
}

std::int64_t bytes_of(const InspectedStep& step, CollectiveKind kind) {
  std::int64_t sum = 0;
  for (const auto& collective : step.collectives) {
    if (collective.spec.kind == kind) sum += collective.spec.bytes.count;
  }
  return sum;
}

TEST_CASE("by default gradients are all-reduced, otherwise reduced to their owners") {
  for (const int number : {1, 2}) {
    TrainingSpec spec = stage(number);
    const auto steps = record(spec);
    CHECK(bytes_of(steps[1], CollectiveKind::all_reduce) == 2 * all_elements);
    CHECK(bytes_of(steps[1], CollectiveKind::all_gather) == 2 * all_elements);
    spec.zero.use_multi_rank_bucket_allreduce = false;
    const auto reduces = record(spec)[1];
    CHECK(bytes_of(reduces, CollectiveKind::reduce) == 2 * all_elements);
    CHECK(reduces.count(CollectiveKind::all_reduce) == 0);
    CHECK(reduces.count(CollectiveKind::reduce) >= ranks);  // each owner at least once
    spec.zero.reduce_scatter = false;
    CHECK(bytes_of(record(spec)[1], CollectiveKind::all_reduce) == 2 * all_elements);
  }
}

TEST_CASE("over micro-batches stage 1 reduces once, stage 2 every time") {
  for (const bool overlap : {false, true}) {
    TrainingSpec first = stage(1);
    TrainingSpec second = stage(2);
    first.zero.overlap_comm = second.zero.overlap_comm = overlap;
    CHECK(record(first, 3)[1].count(CollectiveKind::all_reduce) == 3);
    CHECK(record(second, 3)[1].count(CollectiveKind::all_reduce) == 9);
    CHECK(record(second, 3)[1].count(CollectiveKind::all_gather) == 1);
  }
}

TEST_CASE("memory of stages 1 and 2 to the byte") {
  for (const int number : {1, 2}) {
    const auto step = record(stage(number), 1, 3)[2];
    const HeldMemory held = step.at_kernel.at("widen_gradient");
    CHECK(held.of(MemoryKind::parameters) == 2 * all_elements);
    CHECK(held.of(MemoryKind::optimizer) == 12 * all_elements / ranks);
    CHECK(held.of(MemoryKind::gradients) == 2 * all_elements / ranks);
    CHECK(held.of(MemoryKind::other) == 4 * all_elements / ranks);  // the widened gradient
    CHECK(held.of(MemoryKind::communication_buffers) == 0);
    CHECK(step.at_end.of(MemoryKind::gradients) == 0);
    CHECK(step.at_end.total() == step.at_begin.total());
    // A bucket and its flattened copy; with overlap a second bucket.
    CHECK(step.peak_of(MemoryKind::communication_buffers) == 2 * 2 * 2 * parameter);
    TrainingSpec overlapping = stage(number);
    overlapping.zero.overlap_comm = true;
    CHECK(record(overlapping)[1].peak_of(MemoryKind::communication_buffers) ==
          3 * 2 * 2 * parameter);
  }
  // Stage 1 holds every gradient at the end of backward; stage 2 one, beside its own part.
  CHECK(record(stage(1))[1].peak_of(MemoryKind::gradients) == 2 * all_elements);
  CHECK(record(stage(2))[1].peak_of(MemoryKind::gradients) ==
        2 * all_elements / ranks + 2 * 2 * parameter);
}

TEST_CASE("a gradient larger than the bucket is reduced by itself, without a copy") {
  TrainingSpec spec = stage(2);
  spec.zero.reduce_bucket_size = parameter / 2;
  const auto step = record(spec)[1];
  CHECK(step.count(CollectiveKind::all_reduce) == 5);
  CHECK(step.copies.count("to_bucketR") == 0);
  CHECK(step.at_end.total() == step.at_begin.total());
}

TEST_CASE("overlap_comm goes on with compute, with one reduction outstanding") {
  TrainingSpec spec = stage(2);
  spec.zero.overlap_comm = true;
  SizedWorkload workload(blocks, 8, 4);
  workload.collective_time = simcore::SimTime::microseconds(100);
  const auto step = run_alone(record_program(spec, workload, {ranks, ranks, 1}, 1, 2))[1];
  const RunOperation& first = step.operation("bucket0.all_reduce");
  CHECK(first.stream == "reduction");
  CHECK(step.operation("embB").start_us < first.end_us);
  CHECK(step.operation("to_bucketR").start_us >= first.end_us);
  CHECK(step.operation("to_bucketR").start_us < step.operation("bucket1.all_reduce").end_us);
  // The epilogue synchronises the device.
  CHECK(step.operation("widen_gradient").cpu_issue_us >=
        step.operation("bucket2.all_reduce").end_us);
}

}  // namespace
}  // namespace shardsim::training

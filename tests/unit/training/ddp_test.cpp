#include "models/training/ddp.hpp"

#include <doctest/doctest.h>

#include "models/training/ddp_buckets.hpp"
#include "tests/unit/training/program_inspection.hpp"
#include "tests/unit/training/sized_workload.hpp"
#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {
namespace {

using cuda::MemoryKind;
using simcore::Bytes;

constexpr std::int64_t mib = std::int64_t{1} << 20;

std::vector<std::int64_t> bucket_sizes(const std::vector<std::int64_t>& sizes_in_quarter_mib) {
  std::vector<Bytes> sizes;
  for (const std::int64_t size : sizes_in_quarter_mib) sizes.push_back(Bytes{size * mib / 4});
  std::vector<std::int64_t> totals;
  for (const auto& bucket : assign_buckets(sizes, ddp_first_bucket_cap, ddp_bucket_cap)) {
    std::int64_t total = 0;
    for (const std::size_t i : bucket) total += sizes_in_quarter_mib[i];
    totals.push_back(total);
  }
  return totals;
}

TEST_CASE("buckets of a model measured with torch 1.13") {
  // head 1.5, norm 0.25, then b3 a3 b2 a2 b1 a1 b0 a0 of 10, emb 3 MiB, as they become ready.
  const auto totals = bucket_sizes({6, 1, 40, 40, 40, 40, 40, 40, 40, 40, 12});
  CHECK(totals == std::vector<std::int64_t>{6, 121, 120, 92});  // 1.5, 30.25, 30, 23 MiB
  // In the order of registration, for find_unused_parameters: 3, 30, 30, 21.75 MiB.
  const auto registered = bucket_sizes({12, 40, 40, 40, 40, 40, 40, 40, 40, 1, 6});
  CHECK(registered == std::vector<std::int64_t>{12, 120, 120, 87});
}

TEST_CASE("buckets: nothing, one gradient, one larger than the cap") {
  CHECK(bucket_sizes({}).empty());
  CHECK(bucket_sizes({1}) == std::vector<std::int64_t>{1});
  CHECK(bucket_sizes({4, 1000, 1}) == std::vector<std::int64_t>{4, 1000, 1});
}

TrainingSpec ddp() {
  TrainingSpec spec;
  spec.strategy = Strategy::ddp;
  return spec;
}

constexpr int blocks = 4;
constexpr std::int64_t all_elements = 64 * 1024 + blocks * 2 * 4096 * 1024;

std::vector<InspectedStep> record(const TrainingSpec& spec,
                                  gpu::DataType type = gpu::DataType::fp32, int accumulation = 1,
                                  int steps = 4) {
  SizedWorkload workload(blocks, 64, 4096, type);  // two of 16 MiB a block
  return inspect(record_program(spec, workload, {8, 1, 8}, accumulation, steps));
}

TEST_CASE("DDP has one bucket at first, then buckets in the order of readiness") {
  const auto steps = record(ddp());
  REQUIRE(steps[0].collectives.size() == 1);
  CHECK(steps[0].collectives[0].spec.bytes.count == all_elements * 4);
  // 16 | 32 32 32 | 16 + 0.25 MiB
  REQUIRE(steps[1].collectives.size() == 5);
  CHECK(steps[1].collectives[0].spec.bytes.count == 16 * mib);
  CHECK(steps[1].collectives[1].spec.bytes.count == 32 * mib);
  CHECK(steps[1].collectives[4].spec.bytes.count == 16 * mib + mib / 4);
  CHECK(steps[1].bytes() == all_elements * 4);
  CHECK(steps[3].collectives.size() == 5);
}

TEST_CASE("finding unused parameters: registered buckets from the start, reversed, and a map") {
  TrainingSpec spec = ddp();
  spec.find_unused_parameters = true;
  const auto steps = record(spec);
  // 64 KiB of the embedding do not fill the first bucket; every later one takes two of 16 MiB.
  for (const InspectedStep& step : {steps[0], steps[3]}) {
    REQUIRE(step.collectives.size() == 6);
    CHECK(step.collectives[0].spec.bytes.count == 16 * mib);
    for (const std::size_t i : {1u, 2u, 3u}) {
      CHECK(step.collectives[i].spec.bytes.count == 32 * mib);
    }
    CHECK(step.collectives[4].spec.bytes.count == 16 * mib + 64 * 4096);
    CHECK(step.collectives[5].name == "used_parameters.all_reduce");
    CHECK(step.collectives[5].spec.bytes.count == 4 * (1 + 2 * blocks));
  }
  spec.static_graph = true;
  CHECK(record(spec)[0].collectives.size() == 1);
}

TEST_CASE("a static graph rebuilds its buckets an iteration later") {
  TrainingSpec spec = ddp();
  spec.static_graph = true;
  const auto steps = record(spec);
  CHECK(steps[1].collectives.size() == 1);
  CHECK(steps[2].collectives.size() == 5);
}

TEST_CASE("a bucket cap of one's own replaces that of the first bucket, too") {
  TrainingSpec spec = ddp();
  spec.bucket_cap = Bytes{64 * mib};
  CHECK(record(spec).back().collectives.size() == 3);
}

TEST_CASE("buckets are launched inside the backward of the block that fills them") {
  SizedWorkload workload(blocks, 64, 4096, gpu::DataType::fp32);
  const auto steps = run_alone(record_program(ddp(), workload, {8, 1, 8}, 1, 2));
  CHECK(steps[1].operation("bucket0.all_reduce").cpu_issue_us == 0);
  CHECK(steps[1].operation("bucket0.all_reduce").start_us ==
        steps[1].operation("to_bucket3").end_us);
  CHECK(steps[1].operation("bucket0.all_reduce").start_us <
        steps[1].operation("to_bucket3", 1).end_us);
  CHECK(steps[1].operation("bucket4.all_reduce").start_us ==
        steps[1].operation("to_bucketR").end_us);
  CHECK(steps[0].operation("parameters.all_reduce").start_us ==
        steps[0].operation("to_bucketR").end_us);
}

TEST_CASE("DDP memory: everything whole, buckets beside the gradients unless they are views") {
  const auto steps = record(ddp());
  const std::int64_t whole = all_elements * 4;
  CHECK(steps[3].at_end.of(MemoryKind::parameters) == whole);
  CHECK(steps[3].at_end.of(MemoryKind::optimizer) == 2 * whole);
  CHECK(steps[3].at_end.of(MemoryKind::communication_buffers) == whole);
  CHECK(steps[3].peak_of(MemoryKind::gradients) == whole);

  TrainingSpec view = ddp();
  view.gradient_as_bucket_view = true;
  const auto views = record(view);
  CHECK(views[3].at_end.of(MemoryKind::communication_buffers) == 0);
  CHECK(views[3].at_end.of(MemoryKind::gradients) == whole);
  CHECK(views[3].peak_of(MemoryKind::gradients) < whole + 33 * mib);
  CHECK_FALSE(views[3].copies.contains("from_bucket0"));
  CHECK(steps[3].copies.contains("from_bucket0"));
  for (const auto& run : {steps, views}) {
    CHECK(run[2].at_end.total() == run[3].at_end.total());
  }
}

TEST_CASE("autocast holds low-precision weights from forward to backward, gradients are fp32") {
  const InspectedStep step = record(ddp(), gpu::DataType::bf16).back();
  CHECK(step.bytes() == all_elements * 4);
  CHECK(step.peak_of(MemoryKind::gathered_parameters) == all_elements * 2);
  CHECK(step.at_end.of(MemoryKind::gathered_parameters) == 0);
}

TEST_CASE("no_sync reduces only in the last micro-batch") {
  TrainingSpec spec = ddp();
  CHECK(record(spec, gpu::DataType::fp32, 3).back().collectives.size() == 3 * 5);
  spec.gradient_sync = GradientSync::last_micro_batch;
  const auto steps = record(spec, gpu::DataType::fp32, 3);
  CHECK(steps[0].collectives.size() == 1);
  CHECK(steps[3].collectives.size() == 5);
  CHECK(steps[2].at_end.total() == steps[3].at_end.total());
}

}  // namespace
}  // namespace shardsim::training

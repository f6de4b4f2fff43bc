#include "models/training/fsdp2.hpp"

#include <doctest/doctest.h>

#include "tests/unit/training/program_inspection.hpp"
#include "tests/unit/training/sized_workload.hpp"
#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {
namespace {

using cuda::CollectiveKind;
using cuda::MemoryKind;

constexpr int blocks = 4;
constexpr std::int64_t root_elements = 64 * 1024;
constexpr std::int64_t block_elements = 2 * 256 * 1024;
constexpr std::int64_t shard = 8;

std::vector<InspectedStep> record(const TrainingSpec& spec, int accumulation = 1, int steps = 3,
                                  std::int64_t replicas = 1) {
  SizedWorkload workload(blocks, 64, 256);
  const GroupSizes groups{shard * replicas, shard, replicas};
  return inspect(record_program(spec, workload, groups, accumulation, steps));
}

TEST_CASE("FSDP2 gathers blocks twice and the root once, and reduces each once") {
  const InspectedStep step = record({}).back();
  CHECK(step.count(CollectiveKind::all_gather) == 2 * blocks + 1);
  CHECK(step.count(CollectiveKind::reduce_scatter) == blocks + 1);
  // bf16 gathered, fp32 reduced.
  CHECK(step.bytes() == root_elements * (2 + 4) + blocks * block_elements * (2 + 2 + 4));
  CHECK(step.copies.at("CI0") == 2 * 2 * block_elements * 2 / shard);
  CHECK(step.copies.at("CO0") == 2 * 2 * block_elements * 2);
  CHECK(step.copies.at("GCI0") == block_elements * (2 + 4));
  CHECK(step.copies.at("cast0") == 2 * block_elements * (4 + 2) / shard);
}

TEST_CASE("FSDP2 without resharding gathers once") {
  TrainingSpec spec;
  spec.reshard_after_forward = ReshardAfterForward{false};
  const InspectedStep step = record(spec).back();
  CHECK(step.count(CollectiveKind::all_gather) == blocks + 1);
  CHECK(step.count(CollectiveKind::reduce_scatter) == blocks + 1);
  // All units at the end of forward.
  CHECK(step.peak_of(MemoryKind::gathered_parameters) ==
        (root_elements + blocks * block_elements) * 2);
}

TEST_CASE("the root follows an explicit reshard_after_forward only under the later rule") {
  TrainingSpec spec;
  spec.root_rule = RootRule::follow;
  CHECK(record(spec).back().count(CollectiveKind::all_gather) == 2 * blocks + 1);
  spec.reshard_after_forward = ReshardAfterForward{true};
  CHECK(record(spec).back().count(CollectiveKind::all_gather) == 2 * blocks + 2);
  spec.root_rule = RootRule::keep;
  CHECK(record(spec).back().count(CollectiveKind::all_gather) == 2 * blocks + 1);
}

TEST_CASE("FSDP2 memory: shards are persistent, Adam's state comes with the first step") {
  const auto steps = record({});
  const std::int64_t shards = (root_elements + blocks * block_elements) / shard;
  CHECK(steps[0].at_begin.of(MemoryKind::parameters) == shards * 4);
  CHECK(steps[0].at_begin.total() == shards * 4);
  CHECK(steps[0].at_end.of(MemoryKind::optimizer) == shards * 8);
  for (const InspectedStep& step : steps) CHECK(step.at_end.total() == shards * (4 + 8));
}

TEST_CASE("FSDP2 memory: peak of backward as in closed form") {
  const InspectedStep step = record({}).back();
  const std::int64_t shards = (root_elements + blocks * block_elements) / shard;
  // At the end of B1: the root, the unit, the next unit's all-gather output, its gradients, the
  // previous unit's reduce-scatter input; and the sharded gradients of the two units above.
  const std::int64_t transient = root_elements * 2 + block_elements * (2 + 2 + 2 + 4);
  CHECK(step.peak.total() == shards * (4 + 8) + transient + 2 * (block_elements / shard) * 4);
  CHECK(step.peak.of(MemoryKind::gathered_parameters) == (root_elements + block_elements) * 2);
}

TEST_CASE("FSDP2 memory: deeper prefetch holds one more all-gather output a level") {
  TrainingSpec spec;
  const auto buffers = [&](std::int64_t depth) {
    spec.forward_prefetch = depth;
    return record(spec).back().peak_of(MemoryKind::communication_buffers);
  };
  const std::int64_t output = block_elements * 2;
  CHECK(buffers(3) - buffers(2) == output);
}

TEST_CASE("FSDP2 memory returns to the same value after every step") {
  for (const ElementType reduce : {ElementType::fp32, ElementType::bf16, ElementType::fp16}) {
    for (const GradientSync sync : {GradientSync::every_micro_batch, GradientSync::last_micro_batch,
                                    GradientSync::all_reduce_last}) {
      for (const std::int64_t replicas : {1, 4}) {
        for (const std::int64_t group : {2, 8}) {
          for (const bool reshard_after_backward : {true, false}) {
            TrainingSpec spec;
            spec.reduce_dtype = reduce;
            spec.gradient_sync = sync;
            spec.reshard_after_forward = ReshardAfterForward{group};
            spec.reshard_after_backward = reshard_after_backward;
            const auto steps = record(spec, 3, 3, replicas);
            CHECK(steps[1].at_end.total() == steps[2].at_end.total());
            CHECK(steps[1].peak.total() == steps[2].peak.total());
          }
        }
      }
    }
  }
}

TEST_CASE("FSDP2 keeps a slice over the smaller group and gathers from it in backward") {
  TrainingSpec spec;
  spec.reshard_after_forward = ReshardAfterForward{std::int64_t{2}};
  const InspectedStep step = record(spec).back();
  std::int64_t over_group = 0;
  for (const InspectedCollective& collective : step.collectives) {
    if (collective.communicator == "reshard") {
      ++over_group;
      CHECK(collective.spec.kind == CollectiveKind::all_gather);
      CHECK(collective.spec.bytes.count == block_elements * 2);
    }
  }
  CHECK(over_group == blocks);
  CHECK(step.copies.at("CI0") == 2 * block_elements * 2 / shard + 2 * block_elements * 2 / 2);
  CHECK(step.copies.at("slice0") == 2 * block_elements * 2 / 2);
  // At the turn: the root and all slices, while the last block is whole.
  CHECK(step.peak_of(MemoryKind::gathered_parameters) ==
        root_elements * 2 + (blocks - 1) * block_elements + block_elements * 2 + block_elements);
}

TEST_CASE("the gather over the smaller group waits for the slices to be written") {
  SizedWorkload workload(blocks, 64, 256);
  TrainingSpec spec;
  spec.reshard_after_forward = ReshardAfterForward{std::int64_t{2}};
  const RunStep step = run_alone(record_program(spec, workload, {shard, shard, 1}, 1, 2)).back();
  for (int block = 0; block < blocks; ++block) {
    const std::string name = std::to_string(block);
    CHECK(step.operation("CI" + name, 1).start_us >= step.operation("slice" + name).end_us);
  }
}

TEST_CASE("without gradient sync nothing is reduced, and unsharded gradients stay in reduce type") {
  TrainingSpec spec;
  spec.gradient_sync = GradientSync::last_micro_batch;
  const InspectedStep step = record(spec, 3).back();
  CHECK(step.count(CollectiveKind::reduce_scatter) == blocks + 1);
  CHECK(step.count(CollectiveKind::all_gather) == 3 * (2 * blocks + 1));
  CHECK(step.peak_of(MemoryKind::gradients) >= (root_elements + blocks * block_elements) * 4);
  CHECK(step.copies.at("GCI0") == block_elements * (4 + 4));
  spec.gradient_sync = GradientSync::every_micro_batch;
  const InspectedStep synced = record(spec, 3).back();
  CHECK(synced.count(CollectiveKind::reduce_scatter) == 3 * (blocks + 1));
  CHECK(synced.peak_of(MemoryKind::gradients) < (root_elements + blocks * block_elements) * 4);
}

TEST_CASE("parameters kept after backward are not gathered in the next micro-batch's forward") {
  TrainingSpec spec;
  spec.reshard_after_backward = false;
  const InspectedStep step = record(spec, 3).front();
  CHECK(step.count(CollectiveKind::all_gather) == (2 * blocks + 1) + 2 * blocks);
}

TEST_CASE("hybrid FSDP2 all-reduces each shard once a reduction, or once a step") {
  TrainingSpec spec;
  spec.sharding = Sharding::hybrid_shard;
  const InspectedStep every = record(spec, 3, 1, 4).back();
  CHECK(every.count(CollectiveKind::reduce_scatter) == 3 * (blocks + 1));
  CHECK(every.count(CollectiveKind::all_reduce) == 3 * (blocks + 1));
  spec.gradient_sync = GradientSync::all_reduce_last;
  const InspectedStep last = record(spec, 3, 1, 4).back();
  CHECK(last.count(CollectiveKind::reduce_scatter) == 3 * (blocks + 1));
  CHECK(last.count(CollectiveKind::all_reduce) == blocks + 1);
}

TEST_CASE("hybrid FSDP2 keeps every all-reduce buffer until backward ends") {
  TrainingSpec spec;
  spec.sharding = Sharding::hybrid_shard;
  spec.reduce_dtype = ElementType::bf16;
  const std::int64_t shards = (root_elements + blocks * block_elements) / shard;
  const auto buffers = [&](std::int64_t replicas) {
    return record(spec, 1, 2, replicas).back().peak.total();
  };
  CHECK(buffers(2) > buffers(1));
  CHECK(buffers(2) - buffers(1) <= shards * 2);
}

TEST_CASE("gradient clipping reads, reduces a scalar, and scales") {
  TrainingSpec spec;
  spec.gradient_clipping = true;
  const InspectedStep step = record(spec).back();
  const std::int64_t gradients = (root_elements + blocks * block_elements) / shard * 4;
  CHECK(step.copies.at("norm") == gradients);
  CHECK(step.copies.at("clip") == 2 * gradients);
  CHECK(step.count(CollectiveKind::all_reduce) == 1);
}

TEST_CASE("the optimizer updates this rank's shard") {
  SizedWorkload workload(blocks, 64, 256);
  record_program({}, workload, {shard, shard, 1}, 1, 1);
  CHECK(workload.optimized_elements == (root_elements + blocks * block_elements) / shard);
}

}  // namespace
}  // namespace shardsim::training

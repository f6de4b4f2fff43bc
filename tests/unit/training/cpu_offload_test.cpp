// Shards in host memory: copies each way, and who waits for them.
#include <doctest/doctest.h>

#include "tests/unit/training/program_inspection.hpp"
#include "tests/unit/training/sized_workload.hpp"
#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {
namespace {

using cuda::MemoryKind;

constexpr std::int64_t ranks = 8;
constexpr int blocks = 3;
constexpr std::int64_t shard = 2 * 8 * 1024 / ranks;  // of the root and of each block

TrainingSpec offloaded(Strategy strategy) {
  TrainingSpec spec;
  spec.strategy = strategy;
  spec.cpu_offload = true;
  return spec;
}

cuda::Program program(const TrainingSpec& spec, gpu::DataType type = gpu::DataType::bf16,
                      int accumulation = 1) {
  SizedWorkload workload(blocks, 16, 8, type);
  return record_program(spec, workload, group_sizes(spec, ranks, ranks).value(), accumulation, 3);
}

TEST_CASE("with offload a GPU holds no state between steps, and no optimizer runs on it") {
  for (const Strategy strategy : {Strategy::fsdp1, Strategy::fsdp2}) {
    for (const auto type : {gpu::DataType::bf16, gpu::DataType::fp32}) {
      const auto step = inspect(program(offloaded(strategy), type))[2];
      CHECK(step.at_begin.total() == 0);
      CHECK(step.at_end.total() == 0);
      CHECK(step.peak_of(MemoryKind::optimizer) == 0);
      CHECK(std::ranges::count(step.order, "OPT") == 0);
    }
  }
}

TEST_CASE("every gather copies its shard in, every reduction its result out, in the master type") {
  for (const Strategy strategy : {Strategy::fsdp1, Strategy::fsdp2}) {
    const auto step = inspect(program(offloaded(strategy)))[2];
    CHECK(step.copies.at("H2DR") == 4 * shard);      // the root stays gathered
    CHECK(step.copies.at("H2D0") == 2 * 4 * shard);  // forward and backward
    CHECK(step.copies.at("D2HR") == 4 * shard);
    CHECK(step.copies.at("D2H0") == 4 * shard);
  }
}

TEST_CASE("FSDP1 holds its reduced shards until backward ends, FSDP2 drops each when copied") {
  CHECK(inspect(program(offloaded(Strategy::fsdp2)))[2].at_end.of(MemoryKind::gradients) == 0);
  const auto held = [](Strategy strategy) {
    const auto step = inspect(program(offloaded(strategy)))[2];
    return step.at_kernel.at("D2HR").of(MemoryKind::gradients);
  };
  // FSDP1: besides the root's flat gradient in bf16, which the reduction has read.
  CHECK(held(Strategy::fsdp1) == (1 + blocks) * 4 * shard + 2 * shard * ranks);
  CHECK(held(Strategy::fsdp2) == 4 * shard);
}

TEST_CASE("the gather waits for its shard, and the CPU for the last gradient") {
  for (const Strategy strategy : {Strategy::fsdp1, Strategy::fsdp2}) {
    const auto step = run_alone(program(offloaded(strategy)))[2];
    CHECK(step.operation("AG0").start_us >= step.operation("H2D0").end_us);
    CHECK(step.operation("D2H0").start_us >= step.operation("RS0").end_us);
    REQUIRE(!step.cpu_waits.empty());
    CHECK(step.cpu_waits.back().to_us >= step.operation("D2HR").end_us);
    CHECK(step.span_us >= step.cpu_waits.back().to_us + 1000);  // the optimizer, on the CPU
  }
}

TEST_CASE("FSDP2 waits at once for a gradient that the CPU adds to another") {
  const auto waits = [](int accumulation) {
    const auto step =
        run_alone(program(offloaded(Strategy::fsdp2), gpu::DataType::bf16, accumulation))[2];
    return step.cpu_waits.size();
  };
  CHECK(waits(1) == 1 + blocks);
  CHECK(waits(2) == 2 * (1 + blocks));
}

std::int64_t on_host(const cuda::Program& program, MemoryKind kind) {
  return program.host_memory[static_cast<std::size_t>(kind)].count;
}

TEST_CASE("shards, gradients and Adam's two moments lie in host memory, in the master type") {
  constexpr std::int64_t elements = (1 + blocks) * shard;  // powers of two: no block is rounded
  for (const Strategy strategy : {Strategy::fsdp1, Strategy::fsdp2}) {
    for (const auto master : {ElementType::fp32, ElementType::bf16}) {
      TrainingSpec spec = offloaded(strategy);
      spec.master_dtype = master;
      const cuda::Program made = program(spec, gpu::DataType::bf16, 2);
      const std::int64_t bytes = elements * (master == ElementType::fp32 ? 4 : 2);
      CHECK(on_host(made, MemoryKind::parameters) == bytes);
      CHECK(on_host(made, MemoryKind::gradients) == bytes);
      CHECK(on_host(made, MemoryKind::optimizer) == 2 * bytes);
      CHECK(on_host(made, MemoryKind::activations) == 0);
    }
  }
}

TEST_CASE("plain SGD has no state to keep on the host, and without offload nothing is there") {
  for (const Strategy strategy : {Strategy::fsdp1, Strategy::fsdp2}) {
    TrainingSpec spec = offloaded(strategy);
    spec.optimizer = OptimizerKind::sgd;
    CHECK(on_host(program(spec), MemoryKind::optimizer) == 0);
    CHECK(on_host(program(spec), MemoryKind::parameters) > 0);
    spec.cpu_offload = false;
    CHECK(program(spec).host_memory == cuda::BytesByKind{});
  }
}

TEST_CASE("pinned blocks grow to powers of two: FSDP2's tensor by tensor, FSDP1's as one") {
  // Each block: two tensors of 24 rows of 1,024 elements, of which a rank of 8 has 3 rows.
  const auto made = [](Strategy strategy) {
    const TrainingSpec spec = offloaded(strategy);
    SizedWorkload workload(1, 16, 24);
    return record_program(spec, workload, group_sizes(spec, ranks, ranks).value(), 1, 1);
  };
  constexpr std::int64_t row = 4 * 1024;
  constexpr std::int64_t root = 2 * row;
  const cuda::Program per_parameter = made(Strategy::fsdp2);
  CHECK(on_host(per_parameter, MemoryKind::parameters) == root + 2 * 4 * row);
  CHECK(on_host(per_parameter, MemoryKind::gradients) == root + 2 * 4 * row);
  CHECK(on_host(per_parameter, MemoryKind::optimizer) == 2 * (root + 2 * 3 * row));
  const cuda::Program flat = made(Strategy::fsdp1);
  CHECK(on_host(flat, MemoryKind::parameters) == root + 8 * row);
  CHECK(on_host(flat, MemoryKind::optimizer) == 2 * (root + 6 * row));
}

TEST_CASE("models larger than any host are counted without an overflow") {
  SizedWorkload workload(blocks, std::int64_t{1} << 40, std::int64_t{1} << 40);
  const TrainingSpec spec = offloaded(Strategy::fsdp2);
  const cuda::Program made = record_program(spec, workload, group_sizes(spec, 1, 1).value(), 1, 1);
  CHECK(on_host(made, MemoryKind::parameters) == std::int64_t{1} << 50);
  CHECK(on_host(made, MemoryKind::optimizer) == std::int64_t{1} << 50);
}

TEST_CASE("a world of one rank offloads, too") {
  TrainingSpec spec = offloaded(Strategy::fsdp1);
  SizedWorkload workload(blocks, 16, 8);
  const auto step =
      inspect(record_program(spec, workload, group_sizes(spec, 1, 1).value(), 1, 3))[2];
  CHECK(step.at_begin.total() == 0);
  CHECK(step.copies.at("H2D0") == 2 * 4 * shard * ranks);
  CHECK(step.copies.at("D2H0") == 4 * shard * ranks);
}

}  // namespace
}  // namespace shardsim::training

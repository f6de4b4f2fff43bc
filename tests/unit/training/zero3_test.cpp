#include "models/training/zero3.hpp"

#include <doctest/doctest.h>

#include "tests/unit/training/program_inspection.hpp"
#include "tests/unit/training/sized_workload.hpp"
#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {
namespace {

using cuda::CollectiveKind;
using cuda::MemoryKind;

constexpr std::int64_t ranks = 8;
constexpr int blocks = 3;
constexpr std::int64_t parameter = 4 * 1024;  // two in each block, and the root's of twice the size
constexpr std::int64_t all_elements = (2 + 2 * blocks) * parameter;

/// One block ahead, nothing kept, a bucket of one block.
TrainingSpec one_block_ahead() {
  TrainingSpec spec;
  spec.strategy = Strategy::zero3;
  spec.zero.reduce_bucket_size = 2 * parameter;
  spec.zero.stage3_prefetch_bucket_size = 2 * parameter;
  spec.zero.stage3_max_reuse_distance = 0;
  spec.zero.stage3_param_persistence_threshold = 0;
  return spec;
}

cuda::Program program(const TrainingSpec& spec, int accumulation = 1, int steps = 3) {
  SizedWorkload workload(blocks, 8, 4);
  workload.collective_time = simcore::SimTime::microseconds(100);
  return record_program(spec, workload, {ranks, ranks, 1}, accumulation, steps);
}

std::vector<InspectedStep> record(const TrainingSpec& spec, int accumulation = 1, int steps = 3) {
  return inspect(program(spec, accumulation, steps));
}

std::int64_t bytes_of(const InspectedStep& step, CollectiveKind kind) {
  std::int64_t sum = 0;
  for (const auto& collective : step.collectives) {
    if (collective.spec.kind == kind) sum += collective.spec.bytes.count;
  }
  return sum;
}

TEST_CASE("stage 3 gathers twice and reduce-scatters once, first on demand, then ahead") {
  TrainingSpec spec = one_block_ahead();
  spec.zero.stage3_prefetch_bucket_size = 0;
  const auto demand = record(spec);
  CHECK(bytes_of(demand[1], CollectiveKind::all_gather) == 2 * 2 * all_elements);
  CHECK(bytes_of(demand[1], CollectiveKind::reduce_scatter) == 2 * all_elements);
  CHECK(demand[1].count(CollectiveKind::reduce_scatter) == 1 + blocks);

  const auto steps = record(one_block_ahead());
  const auto ahead = [](const InspectedStep& step) {
    return std::ranges::count_if(step.collectives,
                                 [](const auto& c) { return c.name.starts_with("pAG"); });
  };
  CHECK(ahead(steps[0]) == 0);
  CHECK(ahead(steps[1]) == ahead(steps[2]));
  CHECK(ahead(steps[1]) > 0);
  CHECK(bytes_of(steps[1], CollectiveKind::all_gather) == 2 * 2 * all_elements);
}

TEST_CASE("the next block is gathered between the wait for this one and its kernels") {
  const auto order = record(one_block_ahead())[2].order;
  const auto place = [&order](std::string_view name) {
    return std::ranges::find(order, name) - order.begin();
  };
  CHECK(place("pAG1") < place("F0"));
  CHECK(place("pAG1") > place("embF"));
  CHECK(place("bucket0.reduce_scatter") > place("B1"));
}

TEST_CASE("model states of stage 3 are 16 bytes a parameter, divided") {
  const auto step = record(one_block_ahead())[2];
  const HeldMemory held = step.at_kernel.at("widen_gradient");
  CHECK(held.of(MemoryKind::parameters) == 2 * all_elements / ranks);
  CHECK(held.of(MemoryKind::gradients) == 2 * all_elements / ranks);
  CHECK(held.of(MemoryKind::optimizer) == 12 * all_elements / ranks);
  CHECK(held.of(MemoryKind::other) == 4 * all_elements / ranks);
  CHECK(held.of(MemoryKind::gathered_parameters) == 0);
  CHECK(held.of(MemoryKind::communication_buffers) == 2 * 2 * parameter);
  CHECK(step.at_end.total() == step.at_begin.total());
  // Two blocks gathered; two coalesced buffers, the bucket and its interleaved copy at most.
  CHECK(step.peak_of(MemoryKind::gathered_parameters) == 2 * 4 * parameter);
  CHECK(step.peak_of(MemoryKind::communication_buffers) <= 2 * 4 * 2 * parameter);
}

TEST_CASE(
    "gathered storage is marked before it is dropped, gradients as the reduction reads them") {
  const auto step = record(one_block_ahead())[2];
  CHECK(step.also_used_by.at("gathered parameter").contains("compute"));
  CHECK(step.also_used_by.at("grad").contains("reduce"));
}

TEST_CASE("stage 3 reduces in every micro-batch and adds to the partition it keeps") {
  const auto steps = record(one_block_ahead(), 3);
  CHECK(bytes_of(steps[1], CollectiveKind::reduce_scatter) == 3 * 2 * all_elements);
  CHECK(steps[1].copies.at("bucket0.keep_partition") == (2 + 3 + 3) * 2 * 2 * parameter / ranks);
}

TEST_CASE("small parameters stay gathered and are gathered anew after the step") {
  TrainingSpec spec = one_block_ahead();
  spec.zero.stage3_param_persistence_threshold = parameter;  // the blocks'
  const auto steps = record(spec);
  // The root's only once: the prefetcher has passed over its second use.
  CHECK(bytes_of(steps[2], CollectiveKind::all_gather) == 2 * (2 * parameter + 6 * parameter));
  CHECK(steps[2].at_begin.of(MemoryKind::gathered_parameters) == 2 * 6 * parameter);
  CHECK(steps[2].collectives.back().name == "AG0");
  CHECK(steps[2].collectives.back().spec.bytes.count == 2 * 6 * parameter);
  spec.zero.stage3_model_persistence_threshold = 2 * parameter;
  CHECK(record(spec)[2].at_begin.of(MemoryKind::gathered_parameters) == 2 * 2 * parameter);
}

TEST_CASE("the CPU is at most three fetches ahead and waits for the reductions at the end") {
  TrainingSpec spec = one_block_ahead();
  spec.zero.stage3_prefetch_bucket_size = 0;
  const auto step = run_alone(program(spec))[1];
  std::int64_t fetches = 0;
  std::int64_t ends = 0;
  for (const RunWait& wait : step.cpu_waits) {
    if (wait.name == "fetch") ++fetches;
    if (wait.name == "end of reductions") ++ends;
  }
  CHECK(fetches == 2 * (1 + 2 * blocks));  // each parameter, forward and backward
  CHECK(ends == 1);
  // Two events a block: the CPU issues the third block's gather when the root's has ended.
  CHECK(step.operation("AG2").cpu_issue_us >= step.operation("AGR").end_us);
  CHECK(step.operation("widen_gradient").cpu_issue_us >=
        step.operation("bucket" + std::to_string(blocks) + ".reduce_scatter").end_us);
}

TEST_CASE("without overlap_comm gathers and reductions stand in compute's way") {
  TrainingSpec spec = one_block_ahead();
  spec.zero.overlap_comm = false;
  const auto blocking = run_alone(program(spec))[2];
  const auto overlapping = run_alone(program(one_block_ahead()))[2];
  CHECK(blocking.operation("bucket0.reduce_scatter").stream == "compute");
  CHECK(overlapping.operation("bucket0.reduce_scatter").stream == "reduce");
  CHECK(blocking.span_us > overlapping.span_us);
}

TEST_CASE("sub-groups divide the optimizer step, and its temporary") {
  TrainingSpec spec = one_block_ahead();
  spec.zero.sub_group_size = 2 * parameter / ranks;
  const auto step = record(spec)[2];
  CHECK(std::ranges::count(step.order, "OPT") == 1 + blocks);
  CHECK(step.at_kernel.at("widen_gradient").of(MemoryKind::other) == 4 * 2 * parameter / ranks);
}

TEST_CASE("prescribed times: a gather over several modules takes their shares") {
  const auto times = from_yaml<ExplicitSpec>(
      "{blocks: 4, embedding_forward: 2 us, block_forward: 5 us, head_forward: 2 us, "
      "head_backward: 4 us, block_backward: 10 us, embedding_backward: 4 us, "
      "embedding_parameters: 4, block_parameters: 10, head_parameters: 4, "
      "all_gather_root: 8 us, all_gather_block: 10 us, reduce_scatter_root: 8 us, "
      "reduce_scatter_block: 10 us}");
  TrainingSpec spec;
  spec.strategy = Strategy::zero3;
  CHECK(missing_times(times, spec, {2, 2, 1}).empty());
  CHECK(missing_sizes(times, spec).empty());
  CHECK(missing_sizes({}, spec).size() == 3);
  spec.zero.reduce_bucket_size = 20;
  spec.zero.stage3_prefetch_bucket_size = 25;
  spec.zero.stage3_max_reuse_distance = 0;
  spec.zero.stage3_param_persistence_threshold = 0;
  ExplicitWorkload workload(times, {}, true);
  const auto step = run_alone(record_program(spec, workload, {2, 2, 1}, 1, 3))[2];
  const auto time = [&step](std::string_view name, int occurrence = 0) {
    const RunOperation& operation = step.operation(name, occurrence);
    return operation.end_us - operation.start_us;
  };
  // AG{E}, pAG{L0,L1,L2}, pAG{L3,H,E}, AG{H}; then RS{H,L3}, {L2,L1}, {L0,E}.
  CHECK(step.count("AG") == 2);
  CHECK(step.count("pAG") == 2);
  CHECK(time("AGR") == 4);
  CHECK(time("pAG0") == 30);
  CHECK(time("pAG3") == 18);
  CHECK(time("bucket0.reduce_scatter") == 14);
  CHECK(time("bucket1.reduce_scatter") == 20);
  CHECK(step.operation("F0").start_us >= step.operation("pAG0").end_us);
}

/// Parameters, gradients and optimizer state in GB as `kernel` is issued.
double states(Strategy strategy, const char* kernel) {
  // 7.5e9 parameters, up to a part in 10^8, in 32 blocks.
  constexpr std::int64_t rows = 7'324'224;
  SizedWorkload workload(32, rows / 3, rows / 96,
                         strategy == Strategy::ddp ? gpu::DataType::fp32 : gpu::DataType::bf16);
  TrainingSpec spec;
  spec.strategy = strategy;
  spec.optimizer_implementation = OptimizerImplementation::fused;
  constexpr std::int64_t world = 64;
  const GroupSizes groups =
      strategy == Strategy::ddp ? GroupSizes{world, 1, world} : GroupSizes{world, world, 1};
  const HeldMemory held =
      inspect(record_program(spec, workload, groups, 1, 2))[1].at_kernel.at(kernel);
  const std::int64_t bytes = held.of(MemoryKind::parameters) + held.of(MemoryKind::gradients) +
                             held.of(MemoryKind::optimizer);
  return static_cast<double>(bytes) / 1e9;
}

TEST_CASE("the published table: 7.5 billion parameters on 64 GPUs") {
  CHECK(states(Strategy::ddp, "OPT") == doctest::Approx(120).epsilon(1e-5));
  // Stage 1 as it begins to reduce, when every gradient is there.
  CHECK(states(Strategy::zero1, "bucket0.divide") == doctest::Approx(31.40625).epsilon(1e-5));
  CHECK(states(Strategy::zero2, "widen_gradient") == doctest::Approx(16.640625).epsilon(1e-5));
  CHECK(states(Strategy::zero3, "widen_gradient") == doctest::Approx(1.875).epsilon(1e-5));
}

}  // namespace
}  // namespace shardsim::training

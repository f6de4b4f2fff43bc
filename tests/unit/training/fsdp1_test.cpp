#include "models/training/fsdp1.hpp"

#include <set>
#include <string>

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
constexpr std::int64_t all_elements = root_elements + blocks * block_elements;
constexpr std::int64_t shard = 8;

TrainingSpec fsdp1(Sharding sharding = Sharding::full_shard) {
  TrainingSpec spec;
  spec.strategy = Strategy::fsdp1;
  spec.sharding = sharding;
  return spec;
}

GroupSizes groups_for(const TrainingSpec& spec) { return group_sizes(spec, 16, 8).value(); }

std::vector<InspectedStep> record(const TrainingSpec& spec, GroupSizes groups, int accumulation = 1,
                                  int steps = 3) {
  SizedWorkload workload(blocks, 64, 256);
  return inspect(record_program(spec, workload, groups, accumulation, steps));
}

InspectedStep last_of(const TrainingSpec& spec, int accumulation = 1) {
  return record(spec, {shard, shard, 1}, accumulation).back();
}

TEST_CASE("collectives of each sharding strategy") {
  const InspectedStep full = last_of(fsdp1());
  CHECK(full.count(CollectiveKind::all_gather) == 2 * blocks + 1);
  CHECK(full.count(CollectiveKind::reduce_scatter) == blocks + 1);
  CHECK(full.bytes() == root_elements * (2 + 4) + blocks * block_elements * (2 + 2 + 4));

  const InspectedStep grad_op = last_of(fsdp1(Sharding::shard_grad_op));
  CHECK(grad_op.count(CollectiveKind::all_gather) == blocks + 1);
  CHECK(grad_op.count(CollectiveKind::reduce_scatter) == blocks + 1);

  const TrainingSpec none = fsdp1(Sharding::no_shard);
  const InspectedStep whole = record(none, groups_for(none)).back();
  CHECK(whole.count(CollectiveKind::all_gather) == 0);
  CHECK(whole.count(CollectiveKind::all_reduce) == blocks + 1);
  CHECK(whole.collectives.front().communicator == "world");

  for (const Sharding sharding : {Sharding::hybrid_shard, Sharding::hybrid_shard_zero2}) {
    const TrainingSpec hybrid = fsdp1(sharding);
    const InspectedStep step = record(hybrid, groups_for(hybrid)).back();
    CHECK(step.count(CollectiveKind::all_gather) ==
          (sharding == Sharding::hybrid_shard ? 2 * blocks + 1 : blocks + 1));
    CHECK(step.count(CollectiveKind::all_reduce) == blocks + 1);
    for (const InspectedCollective& collective : step.collectives) {
      CHECK((collective.communicator == "repl") ==
            (collective.spec.kind == CollectiveKind::all_reduce));
    }
  }
}

TEST_CASE("a world of one rank is not sharded") {
  const InspectedStep step = record(fsdp1(), {1, 1, 1}).back();
  CHECK(step.count(CollectiveKind::all_gather) == 0);
  CHECK(step.at_end.of(MemoryKind::parameters) == all_elements * 4);
}

TEST_CASE("FSDP1 memory: shards, lazily allocated state, and closed forms of the peak") {
  const std::int64_t persistent = all_elements / shard * (4 + 8);
  TrainingSpec spec = fsdp1();
  const auto steps = record(spec, {shard, shard, 1});
  CHECK(steps[0].at_begin.total() == all_elements / shard * 4);
  CHECK(steps[0].at_end.total() == persistent);
  // In the CPU's order. Reducing B1: the root and the prefetched unit are whole, beside the flat
  // gradient and its fp32 copy; and the sharded gradients of three units.
  const std::int64_t gradient = block_elements / shard * 4;
  const std::int64_t reducing = root_elements * 2 + block_elements * (2 + 2 + 4);
  CHECK(steps[2].peak.total() == persistent + reducing + 3 * gradient);
  // Reduced in bf16, at the end of B1: unit and prefetched unit, gradients and their
  // concatenation; and the sharded gradients of two units.
  TrainingSpec narrow = spec;
  narrow.reduce_dtype = ElementType::bf16;
  const std::int64_t concatenating = root_elements * 2 + block_elements * (2 * 2 + 2 * 2);
  CHECK(record(narrow, {shard, shard, 1}).back().peak.total() ==
        persistent + concatenating + 2 * gradient);

  // Prefetching afterwards holds one unit less while backward runs.
  spec.backward_prefetch.value = BackwardPrefetchPolicy::post;
  const InspectedStep post = record(spec, {shard, shard, 1}).back();
  CHECK(post.peak_of(MemoryKind::gathered_parameters) == (root_elements + block_elements) * 2);
  CHECK(steps[2].peak_of(MemoryKind::gathered_parameters) ==
        (root_elements + 2 * block_elements) * 2);
}

TEST_CASE("FSDP1 memory returns to the same value after every step") {
  for (const Sharding sharding : {Sharding::full_shard, Sharding::shard_grad_op,
                                  Sharding::hybrid_shard, Sharding::no_shard}) {
    for (const ElementType reduce : {ElementType::fp32, ElementType::bf16}) {
      for (const ElementType master : {ElementType::fp32, ElementType::bf16}) {
        for (const GradientSync sync :
             {GradientSync::every_micro_batch, GradientSync::last_micro_batch}) {
          TrainingSpec spec = fsdp1(sharding);
          spec.reduce_dtype = reduce;
          spec.master_dtype = master;
          spec.gradient_sync = sync;
          const auto steps = record(spec, groups_for(spec), 3);
          CHECK(steps[0].at_end.total() == steps[2].at_end.total());
          CHECK(steps[1].peak.total() == steps[2].peak.total());
        }
      }
    }
  }
}

TEST_CASE("no_sync keeps whole gradients, and shard_grad_op whole parameters") {
  TrainingSpec spec = fsdp1(Sharding::shard_grad_op);
  spec.gradient_sync = GradientSync::last_micro_batch;
  const InspectedStep step = last_of(spec, 3);
  CHECK(step.count(CollectiveKind::reduce_scatter) == blocks + 1);
  CHECK(step.count(CollectiveKind::all_gather) == blocks + 1);
  CHECK(step.peak_of(MemoryKind::gradients) >= all_elements * 2);
  spec.sharding = Sharding::full_shard;
  CHECK(last_of(spec, 3).count(CollectiveKind::all_gather) == 3 * (2 * blocks + 1));
  spec.gradient_sync = GradientSync::every_micro_batch;
  CHECK(last_of(spec, 3).count(CollectiveKind::reduce_scatter) == 3 * (blocks + 1));
  CHECK(last_of(spec, 3).peak_of(MemoryKind::gradients) < all_elements * 2);
}

TEST_CASE("the division by the ranks is split around the reduction") {
  const InspectedStep step = last_of(fsdp1());  // 8 ranks: by 4 before and by 2 after
  CHECK(step.copies.at("predivide0") == 2 * block_elements * 4);
  CHECK(step.copies.at("postdivide0") == 2 * block_elements / shard * 4);
  const InspectedStep two = record(fsdp1(), {2, 2, 1}).back();  // by 2 and by 1
  CHECK(two.copies.contains("predivide0"));
  CHECK_FALSE(two.copies.contains("postdivide0"));
}

TEST_CASE("gradients are padded before the reduce-scatter unless the flat parameter is") {
  TrainingSpec spec = fsdp1();
  const GroupSizes seven{7, 7, 1};
  CHECK(record(spec, seven).back().copies.contains("pad0"));
  spec.use_orig_params = true;
  CHECK_FALSE(record(spec, seven).back().copies.contains("pad0"));
}

TEST_CASE("storage that another stream still uses is marked before it is dropped") {
  TrainingSpec spec = fsdp1(Sharding::hybrid_shard);
  const auto used_by = record(spec, groups_for(spec)).back().also_used_by;
  const auto only = [](const char* stream) { return std::set<std::string>{stream}; };
  CHECK(used_by.at("flat_param0.unsharded") == only("compute"));
  CHECK(used_by.at("flat_paramR.unsharded") == only("compute"));
  CHECK(used_by.at("low-precision shard") == only("unshard"));
  CHECK(used_by.at("flat gradient") == only("post_backward"));
  CHECK(used_by.at("reduce-scatter output") == only("all_reduce"));
  // FSDP2 orders every reuse by stream waits instead.
  spec.strategy = Strategy::fsdp2;
  CHECK(record(spec, groups_for(spec)).back().also_used_by.empty());
}

TEST_CASE("an all-gather waits for the cast of the shard that it sends") {
  SizedWorkload workload(blocks, 64, 256);
  const RunStep step = run_alone(record_program(fsdp1(), workload, {8, 8, 1}, 1, 2)).back();
  for (const int occurrence : {0, 1}) {
    for (int block = 0; block < blocks; ++block) {
      const std::string name = std::to_string(block);
      CHECK(step.operation("AG" + name, occurrence).start_us >=
            step.operation("cast" + name, occurrence).end_us);
    }
  }
}

// ---- the limiter, with prescribed times --------------------------------------------------------

constexpr const char* slow_compute =
    "{blocks: 6, embedding_forward: 2 us, block_forward: 10 us, head_forward: 6 us, "
    "head_backward: 12 us, block_backward: 20 us, embedding_backward: 4 us, all_gather_root: 6 us, "
    "all_gather_block: 2 us, reduce_scatter_root: 6 us, reduce_scatter_block: 2 us}";

std::vector<RunStep> run(const TrainingSpec& spec, int steps = 3) {
  ExplicitWorkload workload(from_yaml<ExplicitSpec>(slow_compute));
  return run_alone(record_program(spec, workload, {4, 4, 1}, 1, steps));
}

TEST_CASE("the limiter lets the CPU gather two units ahead, three once its queue is primed") {
  const auto steps = run(fsdp1());
  CHECK(steps[0].operation("AG2").cpu_issue_us == steps[0].operation("F0").end_us);
  CHECK(steps[2].operation("AG2").cpu_issue_us == 0);
  CHECK(steps[2].operation("AG3").cpu_issue_us == steps[2].operation("F0").end_us);
  TrainingSpec unlimited = fsdp1();
  unlimited.limit_all_gathers = false;
  for (const RunStep& step : run(unlimited)) {
    CHECK(step.cpu_waits.empty());
    for (const RunOperation& operation : step.operations) CHECK(operation.cpu_issue_us == 0);
  }
}

TEST_CASE("the limiter is asked again for a prefetched unit only in torch 1.13") {
  TrainingSpec spec = fsdp1();
  const auto later = run(spec);
  spec.fsdp1_v113 = true;
  const auto earlier = run(spec);
  CHECK(earlier.front().cpu_waits.size() > later.front().cpu_waits.size());
  CHECK(earlier.back().operations != later.back().operations);
}

TEST_CASE("forward prefetch issues the next all-gather before this unit's forward") {
  TrainingSpec spec = fsdp1();
  spec.limit_all_gathers = false;
  spec.forward_prefetch = 1;
  const auto position = [](const RunStep& step, std::string_view name) {
    for (std::size_t i = 0; i < step.operations.size(); ++i) {
      if (step.operations[i].name == name) return i;
    }
    return step.operations.size();
  };
  const auto steps = run(spec);
  CHECK(position(steps[0], "AG1") > position(steps[0], "F0"));  // the order is not known yet
  CHECK(position(steps[1], "AG1") < position(steps[1], "F0"));
  spec.fsdp1_v113 = true;
  const auto earlier = run(spec);
  CHECK(position(earlier[1], "AG0") < position(earlier[1], "embF"));
  CHECK(position(earlier[1], "AG1") > position(earlier[1], "F0"));
}

TEST_CASE("the limiter is asked once for a unit that forward prefetched") {
  TrainingSpec spec = fsdp1();
  spec.forward_prefetch = 1;
  std::set<std::string> asked;
  const RunStep step = run(spec, 4).back();
  for (const RunWait& wait : step.cpu_waits) {
    if (wait.to_us > step.operation("headF").cpu_issue_us) break;  // backward
    CHECK(asked.insert(wait.name.substr(0, wait.name.find(" waits"))).second);
  }
  CHECK(asked.size() > 3);
}

TEST_CASE("prefetch before or after backward gives the same GPU times while the limiter is off") {
  TrainingSpec spec = fsdp1();
  spec.limit_all_gathers = false;
  const RunStep pre = run(spec).back();
  spec.backward_prefetch.value = BackwardPrefetchPolicy::post;
  const RunStep post = run(spec).back();
  for (const RunOperation& operation : pre.operations) {
    const int occurrence = operation.name.starts_with("AG") && operation.start_us > 80 ? 1 : 0;
    CHECK(post.operation(operation.name, occurrence).end_us ==
          pre.operation(operation.name, occurrence).end_us);
  }
  spec.backward_prefetch.value = BackwardPrefetchPolicy::none;
  CHECK(run(spec).back().span_us > pre.span_us);
}

}  // namespace
}  // namespace shardsim::training

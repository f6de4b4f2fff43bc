// What holds for every schedule, whatever the times: tried on times drawn from a fixed sequence.
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <utility>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {
namespace {

constexpr int blocks = 5;
constexpr int draws = 12;

ExplicitSpec drawn_times(std::uint32_t seed) {
  std::minstd_rand random(seed);
  const auto time = [&random] { return simcore::SimTime::microseconds(1 + random() % 40); };
  ExplicitSpec spec;
  spec.blocks = blocks;
  for (auto member :
       {&ExplicitSpec::embedding_forward, &ExplicitSpec::block_forward, &ExplicitSpec::head_forward,
        &ExplicitSpec::head_backward, &ExplicitSpec::block_backward,
        &ExplicitSpec::embedding_backward, &ExplicitSpec::optimizer, &ExplicitSpec::copy_in,
        &ExplicitSpec::copy_out, &ExplicitSpec::gradient_copy_in}) {
    spec.*member = time();
  }
  for (auto member :
       {&ExplicitSpec::all_gather_root, &ExplicitSpec::all_gather_block,
        &ExplicitSpec::reduce_scatter_root, &ExplicitSpec::reduce_scatter_block,
        &ExplicitSpec::all_reduce_root, &ExplicitSpec::all_reduce_block, &ExplicitSpec::ddp_head,
        &ExplicitSpec::ddp_block, &ExplicitSpec::ddp_embedding}) {
    spec.*member = time();
  }
  return spec;
}

std::vector<RunStep> run(const ExplicitSpec& times, const TrainingSpec& spec, int steps = 3) {
  ExplicitWorkload workload(times, simcore::SimTime::microseconds(1));
  return run_alone(record_program(spec, workload, group_sizes(spec, 16, 4).value(), 1, steps));
}

std::string named(const char* prefix, int block) { return fmt::format("{}{}", prefix, block); }

void check_serial(const RunStep& step, bool by_communicator) {
  std::map<std::string, std::int64_t> free_at;
  for (const RunOperation& operation : step.operations) {
    const std::string& key = by_communicator ? operation.communicator : operation.stream;
    if (key.empty()) continue;
    CHECK(operation.start_us >= free_at[key]);
    CHECK(operation.start_us >= operation.cpu_issue_us);
    free_at[key] = operation.end_us;
  }
}

/// The all-gather that backward uses.
const RunOperation& backward_gather(const RunStep& step, int block, bool regathers) {
  return step.operation(named("AG", block), regathers ? 1 : 0);
}

void check_order(const RunStep& step, bool regathers) {
  const RunOperation& optimizer = step.operation("OPT");
  for (int block = 0; block < blocks; ++block) {
    CHECK(step.operation(named("AG", block)).end_us <= step.operation(named("F", block)).start_us);
    CHECK(backward_gather(step, block, regathers).end_us <=
          step.operation(named("B", block)).start_us);
    CHECK(step.operation(named("RS", block)).start_us >= step.operation(named("B", block)).end_us);
  }
  for (const RunOperation& operation : step.operations) {
    if (operation.communicator.empty()) continue;
    CHECK(operation.end_us <= optimizer.start_us);
  }
}

TEST_CASE("streams and communicators run one operation at a time, in issue order") {
  for (std::uint32_t seed = 1; seed <= draws; ++seed) {
    for (const Strategy strategy : {Strategy::fsdp2, Strategy::fsdp1, Strategy::ddp}) {
      for (const Sharding sharding : {Sharding::full_shard, Sharding::hybrid_shard}) {
        TrainingSpec spec;
        spec.strategy = strategy;
        spec.sharding = sharding;
        for (const RunStep& step : run(drawn_times(seed), spec)) {
          check_serial(step, true);
          check_serial(step, false);
        }
      }
    }
  }
}

TEST_CASE("parameters are there before compute, gradients before their reduction and the step") {
  for (std::uint32_t seed = 1; seed <= draws; ++seed) {
    for (const Strategy strategy : {Strategy::fsdp2, Strategy::fsdp1}) {
      for (const Sharding sharding : {Sharding::full_shard, Sharding::shard_grad_op,
                                      Sharding::hybrid_shard, Sharding::hybrid_shard_zero2}) {
        for (const std::int64_t depth : {0, 1}) {
          TrainingSpec spec;
          spec.strategy = strategy;
          spec.sharding = sharding;
          spec.backward_prefetch.value = depth;
          spec.forward_prefetch = depth;
          for (const RunStep& step : run(drawn_times(seed), spec)) {
            check_order(step, spec.reshards_blocks());
          }
        }
      }
    }
  }
}

TEST_CASE("FSDP2 double-buffers in forward and gathers exactly one unit ahead in backward") {
  for (std::uint32_t seed = 1; seed <= draws; ++seed) {
    for (const RunStep& step : run(drawn_times(seed), {})) {
      for (int block = 2; block < blocks; ++block) {
        CHECK(step.operation(named("AG", block)).start_us >=
              step.operation(named("CO", block - 2)).end_us);
      }
      for (int block = 1; block < blocks; ++block) {
        CHECK(step.operation(named("AG", block - 1), 1).start_us >=
              step.operation(named("CO", block), 1).end_us);
        CHECK(step.operation(named("GCI", block - 1)).start_us >=
              step.operation(named("RS", block)).end_us);
      }
    }
  }
}

/// Drawn settings of a ZeRO stage for a model of prescribed times whose blocks have 10 elements.
TrainingSpec drawn_zero(std::uint32_t seed) {
  std::minstd_rand random(seed);
  const auto draw = [&random](std::int64_t most) { return std::int64_t{1} + random() % most; };
  TrainingSpec spec;
  spec.strategy = std::array{Strategy::zero1, Strategy::zero2, Strategy::zero3}[seed % 3];
  spec.zero.reduce_bucket_size = draw(30);
  spec.zero.overlap_comm = draw(2) == 1;
  spec.zero.contiguous_gradients = draw(2) == 1;
  spec.zero.use_multi_rank_bucket_allreduce = draw(2) == 1;
  spec.zero.stage3_prefetch_bucket_size = draw(40) - 1;
  spec.zero.stage3_max_live_parameters = draw(60);
  spec.zero.stage3_max_reuse_distance = draw(60) - 1;
  spec.zero.stage3_param_persistence_threshold = draw(8) - 1;
  spec.zero.sub_group_size = draw(4);
  return spec;
}

TEST_CASE("ZeRO under any settings: serial, complete, parameters before compute, steady, no leak") {
  for (std::uint32_t seed = 1; seed <= 4 * draws; ++seed) {
    ExplicitSpec times = drawn_times(seed);
    times.embedding_parameters = 4;
    times.block_parameters = 10;
    times.head_parameters = 5;
    const TrainingSpec spec = drawn_zero(seed);
    ExplicitWorkload workload(times, simcore::SimTime::microseconds(1), true);
    const auto accumulation = static_cast<int>(1 + seed % 2);
    const auto steps =
        run_alone(record_program(spec, workload, group_sizes(spec, 4, 4).value(), accumulation, 5));
    INFO("seed " << seed);
    for (const RunStep& step : steps) {
      check_serial(step, true);
      check_serial(step, false);
      for (const RunOperation& operation : step.operations) {
        if (operation.name.starts_with("R") || operation.name.starts_with("AR")) {
          CHECK(operation.end_us <= step.operation("OPT").start_us);
        }
      }
    }
    CHECK(steps[3].operations == steps[4].operations);
    CHECK(steps[3].memory.allocated == steps[4].memory.allocated);
    CHECK(steps[3].memory.peak_allocated == steps[4].memory.peak_allocated);
    // A persistent embedding is there already.
    if (spec.strategy != Strategy::zero3 || spec.zero.stage3_param_persistence_threshold >= 4) {
      continue;
    }
    CHECK(steps[4].operation("embF").start_us >= steps[4].operation("AGR").end_us);
  }
}

TEST_CASE("a steady backward period is the larger of compute and of gather plus reduce") {
  for (const std::int64_t backward : {20, 90}) {
    ExplicitSpec times = drawn_times(7);
    times.block_backward = simcore::SimTime::microseconds(backward);
    times.all_gather_block = simcore::SimTime::microseconds(30);
    times.reduce_scatter_block = simcore::SimTime::microseconds(25);
    TrainingSpec spec;
    spec.strategy = Strategy::fsdp1;
    spec.limit_all_gathers = false;
    const auto period = [&] {
      const RunStep step = run(times, spec).back();
      return step.operation("RS1").start_us - step.operation("RS2").start_us;
    };
    CHECK(period() == std::max<std::int64_t>(backward, 30 + 25));
    spec.backward_prefetch.value = BackwardPrefetchPolicy::none;
    CHECK(period() == backward + 30 + 25);
    spec.sharding = Sharding::shard_grad_op;
    CHECK(period() == std::max<std::int64_t>(backward, 25));
  }
}

TEST_CASE("every step after the second is the same") {
  for (const char* training :
       {"{strategy: fsdp2}", "{strategy: fsdp1}", "{strategy: fsdp1, sharding: shard_grad_op}",
        "{strategy: fsdp1, sharding: no_shard}", "{strategy: ddp}"}) {
    const auto steps = run(drawn_times(3), from_yaml<TrainingSpec>(training), 5);
    for (std::size_t i = 3; i < steps.size(); ++i) {
      CHECK(steps[i].operations == steps[2].operations);
      CHECK(steps[i].span_us == steps[2].span_us);
    }
  }
}

TEST_CASE("FSDP2 without backward prefetch exposes the gathers") {
  ExplicitSpec times = drawn_times(5);
  times.block_backward = simcore::SimTime::microseconds(60);
  times.all_gather_block = simcore::SimTime::microseconds(20);
  times.reduce_scatter_block = simcore::SimTime::microseconds(20);
  TrainingSpec spec;
  const std::int64_t prefetched = run(times, spec).back().span_us;
  spec.backward_prefetch.value = BackwardPrefetchPolicy::none;
  const std::int64_t exposed = run(times, spec).back().span_us;
  CHECK(exposed - prefetched >= (blocks - 1) * (20 + 20));
}

TEST_CASE("the program of a step does not depend on the steps recorded after it") {
  ExplicitWorkload workload(drawn_times(1));
  const auto few = record_program({}, workload, {4, 4, 1}, 1, 2);
  const auto many = record_program({}, workload, {4, 4, 1}, 1, 4);
  const auto again = record_program({}, workload, {4, 4, 1}, 1, 4);
  REQUIRE(few.ops.size() < many.ops.size());
  const auto same = [](const cuda::Op& a, const cuda::Op& b) {
    return a.code == b.code && a.stream == b.stream && a.index == b.index && a.name == b.name;
  };
  for (std::size_t i = 0; i < few.ops.size(); ++i) CHECK(same(few.ops[i], many.ops[i]));
  REQUIRE(again.ops.size() == many.ops.size());
  for (std::size_t i = 0; i < many.ops.size(); ++i) CHECK(same(again.ops[i], many.ops[i]));
}

}  // namespace
}  // namespace shardsim::training

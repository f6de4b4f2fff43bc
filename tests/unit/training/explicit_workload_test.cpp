#include "models/training/explicit_workload.hpp"

#include <doctest/doctest.h>

#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {
namespace {

constexpr const char* minimal = "{blocks: 3, block_forward: 10 us, block_backward: 20 us}";

TEST_CASE("times that are not given are zero, or named if the strategy needs them") {
  const auto spec = from_yaml<ExplicitSpec>(minimal);
  CHECK(spec.embedding_forward == simcore::SimTime{});
  TrainingSpec training;
  const auto missing = [&](std::int64_t world, std::int64_t node) {
    return missing_times(spec, training, group_sizes(training, world, node).value());
  };
  CHECK(missing(8, 8).size() == 4);
  training.sharding = Sharding::hybrid_shard;
  CHECK(missing(16, 8).size() == 6);
  CHECK(missing(8, 8).size() == 4);
  training.strategy = Strategy::fsdp1;
  training.sharding = Sharding::no_shard;
  CHECK(missing(8, 8) == std::vector<std::string>{"all_reduce_root", "all_reduce_block"});
  training.strategy = Strategy::ddp;
  CHECK(missing(8, 8).front() == "ddp_head");
}

TEST_CASE("bare numbers, negative times and unknown keys are errors") {
  const auto fails = [](std::string_view text) {
    simcore::Diagnostics diagnostics;
    const auto source =
        std::make_shared<const simcore::SourceText>(simcore::SourceText{"test", std::string(text)});
    const auto node = simcore::read_yaml(source, diagnostics);
    if (node) simcore::read_config<ExplicitSpec>(*node, diagnostics);
    return diagnostics.has_errors();
  };
  CHECK_FALSE(fails(minimal));
  CHECK(fails("{blocks: 3, block_forward: 10, block_backward: 20 us}"));
  CHECK(fails("{blocks: 3, block_forward: -10 us, block_backward: 20 us}"));
  CHECK(fails("{blocks: 0, block_forward: 10 us, block_backward: 20 us}"));
  CHECK(fails("{blocks: 3, block_forward: 10 us}"));
  CHECK(fails("{blocks: 3, block_forward: 10 us, block_backward: 20 us, all_gather: 3 us}"));
}

TEST_CASE("the CPU costs nothing unless launches are given a cost") {
  const auto spec = from_yaml<ExplicitSpec>(minimal);
  const TrainingSpec training;
  const auto last_issue = [&](simcore::SimTime launch) {
    ExplicitWorkload workload(spec, launch);
    const auto steps =
        run_alone(record_program(training, workload, {.world = 2, .shard = 2}, 1, 1));
    return steps.front().operations.back().cpu_issue_us;
  };
  CHECK(last_issue({}) == 0);
  CHECK(last_issue(simcore::SimTime::microseconds(2)) > 0);
}

}  // namespace
}  // namespace shardsim::training

#include <fstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/unit/training/strategy_run.hpp"

namespace doctest {
template <>
struct StringMaker<shardsim::training::RunOperation> {
  static String convert(const shardsim::training::RunOperation& operation) {
    return (operation.name + " on " + operation.stream + "/" + operation.communicator + " [" +
            std::to_string(operation.start_us) + "," + std::to_string(operation.end_us) +
            ") issued " + std::to_string(operation.cpu_issue_us))
        .c_str();
  }
};
template <>
struct StringMaker<shardsim::training::RunWait> {
  static String convert(const shardsim::training::RunWait& wait) {
    return (wait.name + " " + std::to_string(wait.from_us) + "->" + std::to_string(wait.to_us))
        .c_str();
  }
};
}  // namespace doctest

namespace shardsim::training {
namespace {

nlohmann::json golden() {
  std::ifstream file(SHARDSIM_SOURCE_DIR "/tests/golden/fsdp/timelines.json");
  return nlohmann::json::parse(file);
}

GroupSizes groups_of_four(const TrainingSpec& spec) {
  constexpr int ranks_per_node = 2;
  return group_sizes(spec, 4, ranks_per_node).value();
}

std::vector<RunStep> run(std::string_view workload, std::string_view training, int steps) {
  ExplicitWorkload model(from_yaml<ExplicitSpec>(workload));
  const auto spec = from_yaml<TrainingSpec>(training);
  return run_alone(record_program(spec, model, groups_of_four(spec), 1, steps));
}

std::vector<RunOperation> operations_of(const nlohmann::json& timeline) {
  std::vector<RunOperation> operations;
  for (const auto& row : timeline.at("operations")) {
    operations.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
  }
  return operations;
}

std::vector<RunWait> waits_of(const nlohmann::json& timeline) {
  std::vector<RunWait> waits;
  for (const auto& row : timeline.at("cpu_waits")) waits.push_back({row[0], row[1], row[2]});
  return waits;
}

void check_equal(const RunStep& step, const nlohmann::json& timeline) {
  CHECK(step.span_us == timeline.at("span").get<std::int64_t>());
  const auto operations = operations_of(timeline);
  REQUIRE(step.operations.size() == operations.size());
  for (std::size_t i = 0; i < operations.size(); ++i) CHECK(step.operations[i] == operations[i]);
  const auto waits = waits_of(timeline);
  REQUIRE(step.cpu_waits.size() == waits.size());
  for (std::size_t i = 0; i < waits.size(); ++i) CHECK(step.cpu_waits[i] == waits[i]);
}

TEST_CASE("every golden schedule is reproduced event for event") {
  const nlohmann::json file = golden();
  REQUIRE(file.at("timelines").size() == 18);
  for (const auto& timeline : file.at("timelines")) {
    const auto set = timeline.at("workload").get<std::string>();
    const auto name = timeline.at("name").get<std::string>();
    CAPTURE(set);
    CAPTURE(name);
    const std::size_t iteration = timeline.at("iteration");
    const auto steps = run(file.at("workloads").at(set).get<std::string>(),
                           timeline.at("training").get<std::string>(), static_cast<int>(iteration));
    REQUIRE(steps.size() == iteration);
    check_equal(steps.back(), timeline);
  }
}

struct SpanCase {
  const char* training;
  std::int64_t first_a, steady_a, first_b, steady_b;
};

TEST_CASE("iteration spans of every combination") {
  const SpanCase cases[] = {
      {"{strategy: fsdp1, backward_prefetch: none}", 219, 219, 413, 413},
      {"{strategy: fsdp1, backward_prefetch: none, limit_all_gathers: false}", 219, 219, 413, 413},
      {"{strategy: fsdp1}", 171, 171, 329, 329},
      {"{strategy: fsdp1, limit_all_gathers: false}", 171, 171, 329, 329},
      {"{strategy: fsdp1, backward_prefetch: post}", 171, 171, 329, 329},
      {"{strategy: fsdp1, backward_prefetch: post, limit_all_gathers: false}", 171, 171, 329, 329},
      {"{strategy: fsdp1, sharding: shard_grad_op, backward_prefetch: none}", 171, 171, 281, 281},
      {"{strategy: fsdp1, sharding: shard_grad_op}", 171, 171, 281, 281},
      {"{strategy: fsdp1, sharding: shard_grad_op, backward_prefetch: post}", 171, 171, 281, 281},
      {"{strategy: fsdp1, sharding: shard_grad_op, limit_all_gathers: false}", 171, 171, 281, 281},
      {"{strategy: fsdp1, sharding: shard_grad_op, backward_prefetch: none, "
       "limit_all_gathers: false}",
       171, 171, 281, 281},
      {"{strategy: fsdp1, sharding: shard_grad_op, backward_prefetch: post, "
       "limit_all_gathers: false}",
       171, 171, 281, 281},
      {"{strategy: fsdp1, sharding: hybrid_shard, backward_prefetch: none, "
       "limit_all_gathers: false}",
       222, 222, 422, 422},
      {"{strategy: fsdp1, sharding: hybrid_shard, backward_prefetch: post, "
       "limit_all_gathers: false}",
       174, 174, 338, 338},
      {"{strategy: fsdp1, use_orig_params: true, pre_unshard_waits_for_compute: true}", 197, 197,
       377, 377},
      {"{strategy: fsdp1, sharding: hybrid_shard, backward_prefetch: none}", 222, 222, 422, 422},
      {"{strategy: fsdp1, sharding: hybrid_shard}", 174, 174, 338, 338},
      {"{strategy: fsdp1, sharding: hybrid_shard, backward_prefetch: post}", 174, 174, 338, 338},
      {"{strategy: fsdp1, sharding: hybrid_shard, limit_all_gathers: false}", 174, 174, 338, 338},
      {"{strategy: fsdp1, forward_prefetch: 1}", 171, 171, 329, 329},
      {"{strategy: fsdp2}", 185, 185, 339, 339},
      {"{strategy: fsdp2, reshard_after_forward: true}", 185, 185, 339, 339},
      {"{strategy: fsdp2, reshard_after_forward: false}", 181, 181, 288, 288},
      {"{strategy: fsdp2, sharding: shard_grad_op}", 181, 181, 288, 288},
      {"{strategy: fsdp2, sharding: hybrid_shard}", 188, 188, 348, 348},
      {"{strategy: fsdp2, forward_prefetch: 1}", 185, 185, 339, 339},
      {"{strategy: fsdp2, forward_prefetch: 2, backward_prefetch: 2}", 185, 185, 335, 335},
      {"{strategy: ddp}", 223, 167, 371, 295},
  };
  const nlohmann::json file = golden();
  for (const SpanCase& one : cases) {
    CAPTURE(one.training);
    const auto a = run(file.at("workloads").at("A").get<std::string>(), one.training, 4);
    const auto b = run(file.at("workloads").at("B").get<std::string>(), one.training, 4);
    CHECK(a.front().span_us == one.first_a);
    CHECK(a.back().span_us == one.steady_a);
    CHECK(b.front().span_us == one.first_b);
    CHECK(b.back().span_us == one.steady_b);
  }
}

struct Placed {
  const char* name;
  std::int64_t start, end;
};

void check_placed(const char* set, std::string_view training, int iteration,
                  const std::vector<Placed>& expected) {
  const nlohmann::json file = golden();
  const auto steps = run(file.at("workloads").at(set).get<std::string>(), training, iteration);
  CAPTURE(training);
  for (const Placed& one : expected) {
    CAPTURE(one.name);
    const RunOperation& operation = steps.back().operation(one.name);
    CHECK(operation.start_us == one.start);
    CHECK(operation.end_us == one.end);
  }
}

// Worked out on paper from the times of the two sets.

TEST_CASE("without resharding each FSDP2 block waits for the reduction before its own") {
  check_placed("B", "{strategy: fsdp2, reshard_after_forward: false}", 3,
               {{"headB", 132, 144},
                {"B3", 144, 164},
                {"GCI3", 164, 165},
                {"RS3", 165, 189},
                {"B2", 165, 185},
                {"GCI2", 189, 190},
                {"RS2", 190, 214},
                {"B1", 190, 210},
                {"GCI1", 214, 215},
                {"RS1", 215, 239},
                {"B0", 215, 235},
                {"GCI0", 239, 240},
                {"RS0", 240, 264},
                {"embB", 240, 244},
                {"GCIR", 264, 265},
                {"RSR", 265, 283},
                {"OPT", 283, 288}});
}

TEST_CASE("replicas' all-reduces run beside everything else but the last") {
  check_placed("A", "{strategy: fsdp2, sharding: hybrid_shard}", 3,
               {{"RS3", 99, 107},
                {"AR3", 107, 111},
                {"RS2", 121, 129},
                {"AR2", 129, 133},
                {"AR1", 151, 155},
                {"AR0", 173, 177},
                {"RSR", 174, 180},
                {"ARR", 180, 183},
                {"OPT", 183, 188}});
  check_placed("B", "{strategy: fsdp1, sharding: hybrid_shard}", 3,
               {{"ARR", 324, 333}, {"OPT", 333, 338}});
}

TEST_CASE("parameters kept by FSDP1 leave the backward pass to its reductions") {
  // No gather stands before B3: it follows the head. Reductions take less than a block.
  check_placed("A", "{strategy: fsdp1, sharding: shard_grad_op}", 3,
               {{"headB", 60, 72},
                {"B3", 72, 92},
                {"B2", 92, 112},
                {"B1", 112, 132},
                {"B0", 132, 152},
                {"embB", 152, 156},
                {"RS3", 92, 100},
                {"RS2", 112, 120},
                {"RS1", 132, 140},
                {"RS0", 152, 160},
                {"RSR", 160, 166},
                {"OPT", 166, 171}});
}

TEST_CASE("the first DDP iteration reduces everything after the last gradient") {
  check_placed("B", "{strategy: ddp}", 1, {{"embB", 140, 144}, {"OPT", 366, 371}});
}

}  // namespace
}  // namespace shardsim::training

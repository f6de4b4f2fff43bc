// cluster.gpu_speed_spread: the pace of a job's slowest GPU, as a user sees it.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

double step_time(const std::string& scenario, const std::string& arguments) {
  const ProgramRun run =
      run_program("run " + shipped_scenario(scenario) + " --json - " + arguments);
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  return nlohmann::json::parse(run.output)["step"]["time_s"];
}

std::string spread(const std::string& value) {
  return "--set 'cluster.gpu_speed_spread=" + value + "' ";
}

const std::string four_nodes = "fsdp2-llama-2-7b-4xdgx-h100";

TEST_CASE("a wider spread slows a job of many GPUs more, and one GPU not at all") {
  const double alike = step_time(four_nodes, spread("0 %"));
  const double usual = step_time(four_nodes, "");
  const double wide = step_time(four_nodes, spread("5 %"));
  CHECK(usual > 1.01 * alike);
  CHECK(wide > 1.04 * alike);
  CHECK(wide < 1.11 * alike);  // 5 % times 2.1, the slowest of 32
  CHECK(step_time(four_nodes, spread("1.75 %")) == usual);
  const std::string one =
      "--set cluster.nodes=1 --set cluster.gpus_per_node=1 --set "
      "workload.model=gpt2 --set workload.sequence_length=1024 ";
  CHECK(step_time(four_nodes, one) == step_time(four_nodes, one + spread("0 %")));
}

TEST_CASE("the slowest GPU's pace is one pace: every rank simulated gives the same step") {
  CHECK(step_time(four_nodes, spread("5 %")) ==
        step_time(four_nodes, spread("5 %") + "--exact-ranks"));
}

TEST_CASE("prescribed times are what they say") {
  CHECK(step_time("textbook-fsdp2", spread("20 %")) == step_time("textbook-fsdp2", spread("0 %")));
}

TEST_CASE("speeds that are drawn take the place of the expected slowest") {
  const std::string drawn = "--set 'perturb=[{jitter: {gpu: 0.001 %}}]' ";
  CHECK(step_time(four_nodes, drawn + spread("5 %")) == step_time(four_nodes, drawn));
  CHECK(step_time(four_nodes, drawn) ==
        doctest::Approx(step_time(four_nodes, spread("0 %"))).epsilon(1e-3));
}

}  // namespace
}  // namespace shardsim

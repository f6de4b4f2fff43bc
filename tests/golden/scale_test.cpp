// Known effects of slow ranks, slow networks and neighbours: each with its sign and rough size.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::json;

Json result_of(const std::string& name, const std::string& changes = {}) {
  const ProgramRun run =
      run_program("run " + shipped_scenario(name) + " --quiet --json - " + changes);
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  return Json::parse(run.output);
}

double step(const std::string& name, const std::string& changes = {}) {
  return result_of(name, changes)["step"]["time_s"].get<double>();
}

TEST_CASE("a GPU that is 20 % slower costs FSDP and DDP all it lost, and splits one class") {
  for (const std::string strategy : {"fsdp2", "ddp"}) {
    CAPTURE(strategy);
    const std::string name = "straggler-" + strategy + "-gpt2-xl-4xdgx-h100";
    const Json slow = result_of(name);
    const double usual = step(name, "--set perturb=[]");
    CHECK(slow["step"]["time_s"].get<double>() / usual > 1.15);
    CHECK(slow["step"]["time_s"].get<double>() / usual < 1.21);
    CHECK(slow["simulator"]["rank_classes"] == 2);
  }
}

TEST_CASE("hybrid sharding overtakes full sharding as the network slows") {
  const std::string full = "slow-fabric-fsdp2-llama-2-7b-4xdgx-h100";
  const std::string hybrid = "slow-fabric-hsdp-llama-2-7b-4xdgx-h100";
  CHECK(step(hybrid) < step(full));
  CHECK(step(hybrid, "--set perturb=[]") > step(full, "--set perturb=[]"));
}

TEST_CASE("a spread of GPU speeds costs more the more GPUs there are") {
  const std::string name = "gpu-spread-llama-2-7b-32xdgx-h100";
  double before = 0;
  for (const std::string nodes : {"1", "2", "4", "8"}) {
    const std::string size = "--set cluster.nodes=" + nodes;
    const double cost = step(name, size) / step(name, size + " --set perturb=[]") - 1;
    CHECK(cost > before);
    // The mean of the largest of n normal draws is below sqrt(2 ln n) deviations: 5.8 % for 64.
    CHECK(cost < 0.07);
    before = cost;
  }
}

TEST_CASE("jobs that share uplinks are slower than alone, and alike if they are alike") {
  const std::string name = "two-jobs-llama-2-7b-fat-tree";
  const Json shared = result_of(name);
  const double alone = step(name, "--set jobs=[] --set cluster.nodes=8");
  const double own = shared["step"]["time_s"];
  REQUIRE(shared["jobs"].size() == 1);
  CHECK(own > 1.02 * alone);
  CHECK(shared["jobs"][0]["step_time_s"].get<double>() == doctest::Approx(own).epsilon(0.05));
}

TEST_CASE(
    "background traffic takes bandwidth from a job, and a short fault no more than it lasts") {
  const std::string beside = "background-llama-2-7b-8xdgx-h100";
  CHECK(step(beside) > 1.1 * step(beside, "--set background=[]"));
  const std::string fault = "flapping-nic-llama-2-7b-4xdgx-h100";
  const double lost = step(fault) - step(fault, "--set perturb=[]");
  CHECK(lost > 0.01);
  CHECK(lost < 0.2);
}

TEST_CASE("a rank that dies ends the run with status 1, saying who waits for whom") {
  const ProgramRun run = run_program("run " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100") +
                                     " --set 'perturb=[{rank: 5, dies_at: 200 ms}]'");
  CHECK(run.status == 1);
  CHECK(run.messages.find("rank 5 died at 200 ms, and the others wait for it") !=
        std::string::npos);
  CHECK(run.messages.find("waiting for its peers") != std::string::npos);
}

TEST_CASE("above 64 ranks that all differ, the shown ranks have traces and the result is whole") {
  const ScratchFolder scratch;
  const ProgramRun run = run_program(
      "run " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100") +
      " --set cluster.nodes=16 --set 'perturb=[{jitter: {compute: 2 %}}]' --quiet --json - "
      "--trace " +
      scratch.file("trace.json") + " --trace-ranks 100");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const Json result = Json::parse(run.output);
  CHECK(result["simulator"]["simulated_ranks"] == 128);
  CHECK(result["simulator"]["rank_classes"] == 128);
  CHECK(result["collectives"].size() == 2);
  CHECK(result["memory"]["peak_allocated_bytes"].get<double>() > 1e9);
  CHECK(read_text(scratch.file("trace.json")).find("\"rank\": 100") != std::string::npos);
}

TEST_CASE("perturbations and jobs that make no sense are reported with their place") {
  const ScratchFolder scratch;
  const std::string head =
      "name: bad\ncluster: {topology: dgx-h100, nodes: 2}\n"
      "workload: {model: gpt2, sequence_length: 512}\n";
  const struct {
    const char* what;
    const char* text;
    const char* message;
  } cases[] = {
      {"two effects", "perturb: [{rank: 1, compute_slowdown: 2.0, dies_at: 1 s}]\n",
       "either 'rank'"},
      {"an end before the beginning",
       "perturb: [{link: \"node[0].nic[0]\", bandwidth: 50 %, at: 2 s, until: 1 s}]\n",
       "a time after 'at'"},
      {"an unknown distribution", "perturb: [{jitter: {compute: 2 %, distribution: gauss}}]\n",
       "normal"},
      {"jitter of nothing", "perturb: [{jitter: {distribution: normal}}]\n", "compute or gpu"},
      {"a node of two jobs",
       "jobs:\n  - {name: a, nodes: [1], workload: {model: gpt2, sequence_length: 512}}\n"
       "  - {name: b, nodes: [1], workload: {model: gpt2, sequence_length: 512}}\n",
       "belongs to another job"},
      {"no node left",
       "jobs:\n  - {name: a, nodes: [0, 1], workload: {model: gpt2, sequence_length: 512}}\n",
       "no node is left"},
      {"a node that is not there", "background: [{nodes: [7], bytes: 1 MiB}]\n", "from 0 to 1"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.what);
    const ProgramRun run = run_program("run " + scratch.write("bad.yaml", head + one.text));
    CHECK(run.status == 2);
    CHECK(run.messages.find(one.message) != std::string::npos);
    CHECK(run.messages.find("bad.yaml:") != std::string::npos);
  }
}

}  // namespace
}  // namespace shardsim

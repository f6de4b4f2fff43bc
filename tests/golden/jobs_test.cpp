// Other jobs on the cluster: what is wrong with one of them is said, and none keeps a run going
// that cannot end.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

const std::string gpt2 = "workload: {model: gpt2, sequence_length: 256";

/// Two jobs of GPT-2 on a node each; `other` and `rest` are further keys, YAML.
ProgramRun run_two(const std::string& other, const std::string& rest,
                   const std::string& options = "") {
  const ScratchFolder folder;
  const std::string file = folder.write(
      "scenario.yaml", "name: two jobs\ncluster: {topology: dgx-h100, nodes: 2}\n" + gpt2 +
                           "}\ntraining: {strategy: fsdp2}\njobs: [{name: a, nodes: [1], " + gpt2 +
                           other + "}}]\n" + rest);
  return run_program("run " + file + " --quiet --json - " + options);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("a job that cannot go on ends the run, however long another job could go on") {
  const ProgramRun dead = run_two("", "perturb: [{rank: 3, dies_at: 0 s}]\n");
  CHECK(dead.status == 1);
  CHECK(has(dead.messages, "rank 3 died at 0 s"));
  const ProgramRun cut = run_two("", "perturb: [{link: \"node[0].gpu[0]\", bandwidth: 0 %}]\n");
  CHECK(cut.status == 1);
  CHECK(has(cut.messages, "no route: a collective needs 'node[0].gpu[0]'"));
  for (const char* moment : {"1 ms", "3 ms", "10 ms", "30 ms", "60 ms"}) {
    CAPTURE(moment);
    const ProgramRun late =
        run_two("", "perturb: [{rank: 3, dies_at: " + std::string(moment) + "}]\n");
    CHECK(late.status == 1);
    CHECK_MESSAGE(has(late.messages, "rank 3 died at " + std::string(moment)), late.messages);
  }
  const ProgramRun both = run_two("",
                                  "perturb: [{link: \"node[0].gpu[0]\", bandwidth: 0 %}, {link: "
                                  "\"node[1].gpu[0]\", bandwidth: 0 %}]\n");
  CHECK(both.status == 1);
  CHECK_MESSAGE(has(both.messages, "needs 'node[0].gpu[0]'"), both.messages);
  const ProgramRun slow = run_two("", "cpu: {forward_op: 10 h}\n");
  CHECK(slow.status == 1);
  CHECK(has(slow.messages, "'a' does 10000 steps beside the scenario's own job"));
  const ProgramRun fine = run_two("", "perturb: [{rank: 3, pause: {at: 0 s, length: 1 s}}]\n");
  CHECK(fine.status == 0);
}

TEST_CASE("what is wrong with another job is said") {
  const ProgramRun large = run_two(", micro_batch_size: 100000", "");
  CHECK(large.status == 1);
  CHECK(has(large.messages, "out of memory: job 'a' asks for"));
  const ProgramRun cut = run_two("", "perturb: [{link: \"node[1].gpu[0]\", bandwidth: 0 %}]\n");
  CHECK(cut.status == 0);
  CHECK(has(cut.output, "job 'a' stands still: no route"));
}

TEST_CASE("jobs have names, each its own") {
  const auto named = [](const std::string& first, const std::string& second) {
    return run_program(
        "run fsdp2-llama-3-8b-1xdgx-h100 --quiet --set cluster.nodes=3 --set 'jobs=[{name: " +
        first + ", nodes: [1], " + gpt2 + "}}, {name: " + second + ", nodes: [2], " + gpt2 +
        "}}]'");
  };
  CHECK(named("a", "b").status == 0);
  CHECK(named("a", "a").status == 2);
  CHECK(has(named("a", "a").messages, "a second job is called 'a'"));
  CHECK(named("a", "\"\"").status == 2);
}

/// Step in seconds of Llama 2 7B beside background traffic.
double step_beside(const std::string& background, int nodes = 2) {
  const ProgramRun run =
      run_program("run fsdp2-llama-2-7b-4xdgx-h100 --quiet --json - --check --set cluster.nodes=" +
                  std::to_string(nodes) + " --set 'background=" + background + "'");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  return nlohmann::json::parse(run.output)["step"]["time_s"];
}

TEST_CASE("traffic takes from a job what its volume says, in one exchange or in several") {
  for (const char* pattern : {"alltoall", "sendrecv"}) {
    CAPTURE(pattern);
    const auto entry = [&](const char* bytes, const char* name) {
      return std::string("{name: ") + name + ", bytes: " + bytes + ", pattern: " + pattern + "}";
    };
    const double alone = step_beside("[]");
    const double one = step_beside("[" + entry("2 GiB", "a") + "]");
    const double two = step_beside("[" + entry("1 GiB", "a") + ", " + entry("1 GiB", "b") + "]");
    const double three = step_beside("[" + entry("1 GiB", "a") + ", " + entry("1 GiB", "b") + ", " +
                                     entry("1 GiB", "c") + "]");
    CHECK(one > alone);
    CHECK(two > one);
    CHECK(two < 3 * one);
    CHECK(three < 2 * two);
    // Longer exchanges leave fewer pauses; one of any length takes no less.
    double before = one;
    for (const char* bytes : {"100 GiB", "10 TiB", "1000 TiB"}) {
      CAPTURE(bytes);
      const double longer = step_beside("[" + entry(bytes, "a") + "]");
      CHECK(longer > 0.99 * before);
      before = longer;
    }
    CHECK(before < 1.1 * one);
  }
}

TEST_CASE("a ring keeps a share of the links, however many peers the traffic beside it has") {
  const std::string two = "[{name: a, bytes: 1 GiB}, {name: b, bytes: 1 GiB}]";
  for (const int nodes : {2, 8, 32}) {
    CAPTURE(nodes);
    const double slower = step_beside(two, nodes) / step_beside("[]", nodes);
    CHECK(slower > 1.5);
    CHECK(slower < 6);
  }
}

}  // namespace
}  // namespace shardsim

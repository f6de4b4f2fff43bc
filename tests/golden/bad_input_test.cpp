// Bad input ends with status 2 and a message that helps.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

struct Case {
  std::string what;
  std::string text;      ///< of the scenario file
  std::string expected;  ///< part of the message
  std::string options = {};
};

const std::string cluster = "cluster: {topology: dgx-h100, nodes: 1}\n";
const std::string workload = "workload: {model: llama-2-7b, sequence_length: 4096}\n";
const std::string good = "name: x\n" + cluster + workload;

const std::vector<Case> cases = {
    {"an unknown key", good + "trainning: {}\n", "scenario.yaml:4:1: error: "},
    {"its nearest spelling", good + "trainning: {}\n", "did you mean 'training'?"},
    {"a value that no variable can have",
     good + "nccl:\n  env:\n    NCCL_DEBUG: INFO\n    NCCL_BUFFSIZE: foo\n",
     "scenario.yaml:7:20: error: NCCL_BUFFSIZE"},
    {"a repeated key", good + "name: y\n", ":4:1: error: "},
    {"a missing key", "name: x\n" + cluster, "workload"},
    {"an unknown topology", "name: x\ncluster: {topology: dgx-h10}\n" + workload,
     "did you mean 'dgx-h100'?"},
    {"an unknown model",
     "name: x\n" + cluster + "workload: {model: lama-2-7b, sequence_length: 8}\n",
     "did you mean 'llama-2-7b'?"},
    {"an unknown strategy", good + "training: {strategy: fdsp2}\n", "did you mean 'fsdp2'?"},
    {"a text for a number", "name: x\ncluster: {topology: dgx-h100, nodes: four}\n" + workload,
     ":2:38: error: "},
    {"a number that looks octal", "name: x\ncluster: {topology: dgx-h100, nodes: 010}\n" + workload,
     ":2:38: error: "},
    {"an integer with an exponent",
     "name: x\ncluster: {topology: dgx-h100, nodes: 1e3}\n" + workload, "1000"},
    {"a negative number", "name: x\ncluster: {topology: dgx-h100, nodes: -4}\n" + workload,
     ":2:38: error: "},
    {"too many nodes for any machine",
     "name: x\ncluster: {topology: dgx-h100, nodes: 99999999999}\n" + workload, ":2:38: error: "},
    {"more GPUs than a node has",
     "name: x\ncluster: {topology: dgx-h100, gpus_per_node: 16}\n" + workload, "16"},
    {"a bare number where a unit belongs", good + "cpu: {hook: 200}\n", "unit"},
    {"an unknown unit", good + "cpu: {hook: 200 uss}\n", "us"},
    {"a number that is none", good + "cpu: {hook: .nan}\n", ":4:13: error: "},
    {"a yes for true", good + "training: {limit_all_gathers: yes}\n", "true"},
    {"a merge key", good + "training: {<<: {strategy: fsdp2}}\n", ":4:12: error: "},
    {"an alias", "name: &a x\ndescription: *a\n" + cluster + workload, "error: "},
    {"a tag", "name: !!python/object x\n" + cluster + workload, ":1:7: error: "},
    {"two documents", good + "---\n" + good, "error: "},
    {"an empty file", "", "error: "},
    {"binary",
     std::string("\x7f"
                 "ELF\x02\x01\x00\x00",
                 8),
     "error: "},
    {"text that is not UTF-8", "name: \xff\xfe\n" + cluster + workload, "error: "},
    {"a hundred thousand brackets", std::string(100'000, '['), "error: "},
    {"an unclosed bracket", "name: x\ncluster: {topology: dgx-h100\n", "error: "},
    {"a list for a map", "name: x\ncluster: [dgx-h100]\n" + workload, ":2:10: error: "},
    {"heads that the model's key heads do not divide",
     "name: x\n" + cluster +
         "workload: {sequence_length: 8, model: {family: llama, layers: 2, hidden: 64, heads: 8, "
         "kv_heads: 3, vocabulary: 100}}\n",
     "kv_heads"},
    {"a shard group that does not divide the ranks",
     good + "training: {sharding: hybrid_shard, shard_group: 3}\n", "3"},
    {"a perturbed rank that is not there", good + "perturb: [{rank: 8, compute_slowdown: 2.0}]\n",
     "there is no rank 8"},
    {"a perturbed link that is not there",
     good + "perturb: [{link: \"node[0].nick[0]\", bandwidth: 50 %}]\n", "error: "},
    {"a type without units on the GPU",
     "name: x\ncluster: {topology: dgx-a100}\nworkload: {model: llama-2-7b, sequence_length: 64, "
     "precision: fp8}\n",
     ":3:"},
    {"a table of routes without routes",
     "name: x\ncluster: {topology: dgx-h100, nodes: 2, routing: {policy: table}}\n" + workload,
     ":2:59: error: the policy 'table' needs the list 'routes'"},
    {"columns count characters", "name: x\ndescription: \"पाठ\"\nकुंजी: 1\n" + cluster + workload,
     ":3:1: error: "},
    {"a prescribed workload without a time that the strategy needs",
     "name: x\n" + cluster +
         "workload:\n  explicit: {blocks: 1, block_forward: 1 us, "
         "block_backward: 1 us, all_gather_root: 1 us, all_gather_block: 1 us, "
         "reduce_scatter_root: 1 us}\n",
     ":4:13: error: fsdp2 needs the time 'reduce_scatter_block'"},
    {"a name without letters", "name: \"\"\n" + cluster + workload, ":1:7: error: "},
    {"a workload without any time",
     "name: x\n" + cluster +
         "workload:\n  explicit: {blocks: 1, block_forward: 0 s, "
         "block_backward: 0 s, ddp_head: 0 s, ddp_block: 0 s, ddp_embedding: 0 s}\n"
         "training: {strategy: ddp}\n",
     "take no time"},
    {"more passes than can be simulated", good, "more than the 250000 passes",
     "--set workload.gradient_accumulation=100000"},
    {"the scenario as output", good, "the scenario", "--json $FILE"},
    {"a file without a name", good, "expected a value, found nothing", "--json \"\""},
    {"a key in the wrong section", good + "training: {activation_checkpointing: full}\n",
     "did you mean 'workload.activation_checkpointing'?"},
    {"a key without its section", good, "did you mean 'cluster.nodes'?", "--set nodes=8"},
    {"a key cut short",
     "name: x\n" + cluster + "workload: {model: llama-2-7b, sequence_length: 8, micro_batch: 2}\n",
     "did you mean 'micro_batch_size'?"},
    {"an unknown key on the command line", good, "did you mean 'nodes'?", "--set cluster.node=4"},
    {"a malformed override", good, "--set", "--set cluster.nodes"},
    {"an unknown fidelity", good, "fidelity", "--fidelity packet"},
    {"an unknown option", good, "", "--jsn x"},
    {"a rank that cannot be traced", good, "--trace-ranks", "--trace /dev/null --trace-ranks 0,x"},
    {"two documents on standard output", good, "--json and --trace both go to '-'",
     "--json - --trace -"},
    {"traces of several ranks on standard output", good, "one rank", "--trace - --trace-ranks 0,1"},
    {"ranks to trace without a trace", good, "--trace", "--trace-ranks 0"},
    {"a folder that cannot be written", good, "/nonexistent/", "--json /nonexistent/result.json"},
    {"a data folder that is not there", good, "/nonexistent", "--data /nonexistent"},
};

TEST_CASE("bad input ends with status 2 and a message with place, expectation and spelling") {
  for (const Case& one : cases) {
    CAPTURE(one.what);
    const ScratchFolder scratch;
    const std::string file = scratch.write("scenario.yaml", one.text);
    // The shell replaces $FILE by the scenario's own path.
    const ProgramRun run = run_program("run " + file + " --quiet " + one.options, "FILE=" + file);
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(one.expected) != std::string::npos, run.messages);
    CHECK(!run.messages.empty());
    CHECK(run.output.empty());
  }
}

TEST_CASE("a scenario that is not there, or is a folder, is an error") {
  CHECK(run_program("run /nonexistent.yaml").status == 2);
  CHECK(run_program("run /").status == 2);
  CHECK(run_program("run").status == 2);
  CHECK(run_program("").status == 2);
  CHECK(run_program("rum x").status == 2);
}

TEST_CASE("what a topology file has wrong is shown there, wherever the topology is used") {
  const std::string head = "name: t\nextends: h100-fat-tree\n";
  const std::string route =
      "      - {from: 'node[0].nic[0]', to: 'node[1].nic[0]', via: ['leaf[0]']}\n";
  const std::string cable =
      "  - {from: 'node[*].nic[0]', to: 'leaf[0]', bandwidth: 1 GB/s, latency: 1 us}\n";
  const std::vector<Case> wrong = {
      {"a GPU that is unknown", head + "gpu: h100-sxm\n",
       ":3:6: error: no GPU is called 'h100-sxm'"},
      {"two ways for one pair",
       head + "fabric:\n  routing:\n    policy: table\n    routes:\n" + route + route,
       ":8:9: error: routes[1] "},
      {"a device that is not there",
       head + "fabric: {routing: {policy: table, routes: [{from: 'node[0].nic[9]', to: "
              "'node[1].nic[0]', via: []}]}}\n",
       ":3:44: error: routes[0] "},
      {"a cable that is there already", head + "fabric: {max_nodes: 4}\nlinks:\n" + cable,
       ":5:5: error: links[0] "},
      {"cables of a machine without end", head + "links:\n" + cable, ":4:3: error: links: needs "}};
  for (const Case& one : wrong) {
    CAPTURE(one.what);
    const ScratchFolder scratch;
    const std::string file = scratch.write("t.yaml", one.text);
    const std::string scenario = scratch.write(
        "scenario.yaml", "name: x\ncluster: {topology: t.yaml, nodes: 2}\n" + workload);
    for (const std::string& command :
         {"topology " + file + " --nodes 2", "run " + scenario + " --set cluster.topology=" + file,
          "collective all_reduce --nodes 2 --topology " + file}) {
      CAPTURE(command);
      const ProgramRun run = run_program(command);
      CHECK(run.status == 2);
      CHECK_MESSAGE(run.messages.find("t.yaml" + one.expected) != std::string::npos, run.messages);
    }
  }
}

TEST_CASE("all problems of a file are reported in one go") {
  const ScratchFolder scratch;
  const std::string file = scratch.write(
      "scenario.yaml", "name: x\ncluster: {topology: dgx-h100, nodes: four, gpus: 8}\n" + workload +
                           "training: {strategy: none}\n");
  const ProgramRun run = run_program("run " + file);
  CHECK(run.status == 2);
  for (const char* place : {":2:38:", ":2:44:", ":4:22:"}) {
    CHECK_MESSAGE(run.messages.find(place) != std::string::npos, run.messages);
  }
}

}  // namespace
}  // namespace shardsim

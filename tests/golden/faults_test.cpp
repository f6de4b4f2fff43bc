// Faults of topologies, fabrics, NCCL and runs that were found by trying to break the program.
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

const std::string two_nodes = "collective all_reduce --topology dgx-h100 --nodes 2 ";

TEST_CASE("buffers and chunks that hold no step are errors, and the least that do are simulated") {
  for (const char* variable :
       {"NCCL_BUFFSIZE=64", "NCCL_BUFFSIZE=4095", "NCCL_LL_BUFFSIZE=1", "NCCL_LL128_BUFFSIZE=4096",
        "NCCL_NVLS_CHUNKSIZE=1", "NCCL_NVLSTREE_MAX_CHUNKSIZE=17", "NCCL_P2P_NET_CHUNKSIZE=1"}) {
    CAPTURE(variable);
    const ProgramRun run =
        run_program(two_nodes + "-b 8M -e 8M --fidelity chunk --env " + variable);
    CHECK(run.status == 2);
    CHECK(run.messages.find("expected a number from") != std::string::npos);
  }
  const std::string least =
      "-b 100 -e 1M -f 100 --fidelity chunk --env NCCL_BUFFSIZE=4096 --env NCCL_LL_BUFFSIZE=4096 "
      "--env NCCL_LL128_BUFFSIZE=16384 --env NCCL_NVLS_CHUNKSIZE=512 ";
  for (const char* choice : {"--algo Ring --proto Simple", "--algo Ring --proto LL128",
                             "--algo Tree --proto Simple", "--algo Tree --proto LL"}) {
    CAPTURE(choice);
    CHECK(run_program(two_nodes + least + choice).status == 0);
  }
}

TEST_CASE("a collective beyond the range of times ends with status 1, not with a short time") {
  const ScratchFolder scratch;
  const std::string file = scratch.write(
      "slow.yaml",
      "name: slow\nextends: dgx-h100\n"
      "fabric: {kind: fat_tree, nodes_per_leaf: 2, spines: 4, switch_latency: 100000 s}\n");
  for (const std::string name : {"alltoall", "all_reduce"}) {
    for (const std::string fidelity : {"flow", "chunk"}) {
      CAPTURE(name);
      CAPTURE(fidelity);
      const ProgramRun run = run_program("collective " + name + " --topology " + file +
                                         " --nodes 40 -b 64M -e 64M --fidelity " + fidelity);
      CHECK(run.status == 1);
      CHECK(run.messages.find("46 days") != std::string::npos);
      CHECK(run.output.empty());
    }
  }
}

TEST_CASE("jitter that a distribution cannot have without losing its mean is an error") {
  const std::string run = "run " + shipped_scenario("textbook-fsdp2") + " --quiet --set ";
  for (const char* bad : {"{compute: 34 %}", "{gpu: 60 %, distribution: uniform}",
                          "{compute: 101 %, distribution: exponential}"}) {
    CAPTURE(bad);
    const ProgramRun made = run_program(run + "'perturb=[{jitter: " + bad + "}]'");
    CHECK(made.status == 2);
    CHECK(made.messages.find("expected at most") != std::string::npos);
  }
  CHECK(
      run_program(run + "'perturb=[{jitter: {compute: 500 %, distribution: lognormal}}]'").status ==
      0);
}

TEST_CASE("a graph file that is no XML is said so on one line") {
  const ScratchFolder scratch;
  const std::string file = scratch.write("graph.xml", "\x01\x02<<<");
  const ProgramRun run = run_program("topology dgx-h100 --nodes 2 --env NCCL_GRAPH_FILE=" + file);
  CHECK(run.status == 2);
  CHECK(run.messages.find("graph.xml:1:") != std::string::npos);
}

TEST_CASE("a static route neither passes a switch twice nor stands twice") {
  const ScratchFolder scratch;
  const std::string head =
      "name: t\nextends: dgx-h100\nfabric:\n  kind: fat_tree\n  nodes_per_leaf: 1\n  spines: 2\n"
      "  routing:\n    policy: table\n    routes:\n";
  const std::string way = "      - {from: \"node[0].nic[0]\", to: \"node[1].nic[0]\", via: [";
  for (const auto& [routes, message] :
       {std::pair{way + "\"leaf[0]\", \"spine[0]\", \"leaf[0]\", \"spine[0]\", \"leaf[1]\"]}\n",
                  "twice"},
        {way + "\"leaf[0]\", \"spine[0]\", \"leaf[1]\"]}\n" + way +
             "\"leaf[0]\", \"spine[1]\", \"leaf[1]\"]}\n",
         "two ways"}}) {
    const ProgramRun run =
        run_program("topology " + scratch.write("t.yaml", head + routes) + " --nodes 2");
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(message) != std::string::npos, run.messages);
  }
}

TEST_CASE("a fabric of more cables than can be held is refused at once") {
  const ScratchFolder scratch;
  const std::string file = scratch.write(
      "t.yaml",
      "name: t\nextends: dgx-h100\nfabric: {kind: dragonfly_plus, nodes_per_leaf: 1, spines: 1024, "
      "pods: {nodes: 1, cores: 1024}}\n");
  const ProgramRun run = run_program("topology " + file + " --nodes 200");
  CHECK(run.status == 2);
  CHECK(run.messages.find("cables between switches") != std::string::npos);
}

TEST_CASE("null removes only what is inherited") {
  const ScratchFolder scratch;
  const std::string file = scratch.write("t.yaml", "extends: dgx-h100\nnode: {nvlnk: null}\n");
  const ProgramRun run = run_program("topology " + file);
  CHECK(run.status == 2);
  CHECK_MESSAGE(run.messages.find("t.yaml:2:15: error: null removes") != std::string::npos,
                run.messages);
  CHECK(run.messages.find("did you mean 'nvlink'") != std::string::npos);
}

TEST_CASE("a variable that NCCL does not have, or a value that it cannot have, is told") {
  struct Case {
    const char* variable;
    int status;
    const char* message;
  };
  for (const Case& one : {Case{"FOO=1", 2, "is none of NCCL's variables"},
                          {"nccl_algo=Ring", 2, "did you mean 'NCCL_ALGO'?"},
                          {"NCCL_ALGOO=Ring", 0, "did you mean 'NCCL_ALGO'?"},
                          {"NCCL_BUFFSIZE=999999999999", 2, "from 4096 to 2147483647"},
                          {"NCCL_P2P_LEVEL=99", 0, "taken for 4 (SYS)"},
                          {"NCCL_NET=foo", 0, "neither IB nor Socket"},
                          {"NCCL_NET=", 0, "NCCL_NET is empty"},
                          {"NCCL_IB_HCA=nothing", 0, "data take TCP"}}) {
    CAPTURE(one.variable);
    const ProgramRun run = run_program(two_nodes + "-b 8 -e 8 --env " + one.variable);
    CHECK(run.status == one.status);
    CHECK_MESSAGE(run.messages.find(one.message) != std::string::npos, run.messages);
  }
  const ProgramRun run = run_program("run " + shipped_scenario("textbook-fsdp2") +
                                     " --quiet --set 'nccl.env={FOO: 1}'");
  CHECK(run.status == 0);
  CHECK(run.messages.find("'FOO' is none of NCCL's variables") != std::string::npos);
}

TEST_CASE("what one GPU does is a copy") {
  const ProgramRun run =
      run_program("collective all_reduce --topology dgx-h100 --gpus 1 -b 1M -e 1M");
  CHECK(run.status == 0);
  CHECK(run.output.find("# By a copy: one GPU") != std::string::npos);
}

TEST_CASE("data that move too slowly are no deadlock") {
  const ProgramRun run =
      run_program("run " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100") +
                  " --set 'perturb=[{link: \"node[2].nic[0]\", bandwidth: 0.00000001 %}]'");
  CHECK(run.status == 1);
  CHECK(run.messages.find("more than 46 days of simulated time") != std::string::npos);
  CHECK(run.messages.find("deadlock") == std::string::npos);
}

TEST_CASE("a run beyond the range of times names the operation and its slowest link") {
  const ScratchFolder scratch;
  const std::string scenario = scratch.write(
      "run.yaml", "name: slow\ncluster: {topology: " + scratch.file("slow.yaml") +
                      ", nodes: 2}\n"
                      "workload: {model: gpt2, sequence_length: 1024, micro_batch_size: 1}\n"
                      "training: {strategy: fsdp2}\n");
  for (const char* link : {"bandwidth: 1 B/s", "bandwidth: 50 B/s", "latency: 100 h"}) {
    CAPTURE(link);
    scratch.write("slow.yaml", std::string("name: slow\nextends: dgx-h100\nnode: {nics: {link: {") +
                                   link + "}}}\n");
    const ProgramRun run = run_program("run " + scenario);
    CHECK(run.status == 1);
    CAPTURE(run.messages);
    CHECK(run.messages.find("more than 46 days of simulated time: ") != std::string::npos);
    CHECK(run.messages.find("on communicator shard") != std::string::npos);
    CHECK(run.messages.find("its slowest link is node[") != std::string::npos);
  }
}

TEST_CASE("a link that comes back is told with the time at which it does") {
  const std::string run = "run " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100") +
                          " --set 'perturb=[{link: \"node[2].nic[0]\", bandwidth: 0 %, at: 1.2 s";
  const ProgramRun back = run_program(run + ", until: 1000 s}]'");
  CHECK(back.status == 1);
  CAPTURE(back.messages);
  CHECK(back.messages.find("whose bandwidth is 0 % from 1.2 s until 16.67 min: at 1.2") !=
        std::string::npos);
  const ProgramRun gone = run_program(run + "}]'");
  CHECK(gone.messages.find("whose bandwidth is 0 % from 1.2 s on\n") != std::string::npos);
  // Before it fails, and after it is back, it is not what is missing.
  const ProgramRun later =
      run_program(run + ", until: 1000 s}, {link: \"node[1].nic[0]\", bandwidth: 0 %, at: 1 h}]'");
  CHECK(later.messages.find("needs 'node[2].nic[0]'") != std::string::npos);
}

TEST_CASE("a collective without an estimate or an element is refused, not printed as nothing") {
  for (const char* arguments :
       {"alltoall --topology dgx-h100 --fidelity model -b 1M -e 1M",
        "sendrecv --topology dgx-h100 --fidelity model -b 1M -e 1M",
        "all_gather --topology dgx-h100 -b 8 -e 8", "all_reduce --topology dgx-h100 -b 2 -e 2"}) {
    CAPTURE(arguments);
    const ProgramRun run = run_program(std::string("collective ") + arguments);
    CHECK(run.status == 2);
    CHECK(run.output.empty());
    CHECK(run.messages.starts_with("shardsim collective: "));
  }
}

TEST_CASE("names of other tools are told ours, and a topology within a scenario its place") {
  const std::string run = "run " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100") + " --set ";
  for (const auto& [change, message] :
       {std::pair{"training.sharding=hsdp", "did you mean 'hybrid_shard'?"},
        {"training.sharding=ZeRO-3", "did you mean 'full_shard'?"},
        {"training.strategy=hsdp", "fsdp2 with training.sharding=hybrid_shard"},
        {"workload.precision=bfloat16", "did you mean 'bf16'?"},
        {"'cluster.topology={fabric: {kind: rail}}'", "a file of its own"},
        {"workload.sequence_length=", "such as 4, 2.5 us"}}) {
    CAPTURE(change);
    const ProgramRun made = run_program(run + change);
    CHECK(made.status == 2);
    CHECK_MESSAGE(made.messages.find(message) != std::string::npos, made.messages);
    CHECK(made.messages.find("error: ") == made.messages.rfind("error: "));
  }
}

TEST_CASE("a required key that null removes is missed where it is removed") {
  const ScratchFolder scratch;
  scratch.write("parent.yaml", "name: p\nextends: dgx-h100\n");
  for (const auto& [text, where] :
       {std::pair{"name: t\nextends: ./parent.yaml\nnode: null\n", "t.yaml:3:7: error: missing"},
        std::pair{"name: t\nextends: dgx-h100\nnode:\n  gpus: null\n",
                  "t.yaml:4:9: error: node: missing"}}) {
    const ProgramRun run = run_program("topology " + scratch.write("t.yaml", text));
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(where) != std::string::npos, run.messages);
    CHECK(run.messages.find("dgx-h100.yaml") == std::string::npos);
  }
}

TEST_CASE("NCCL goes on to TCP where its list leaves no NIC") {
  const std::string sizes = two_nodes + "-b 64M -e 64M ";
  const ProgramRun none = run_program(sizes + "--env NCCL_IB_HCA=nothing");
  CHECK(none.status == 0);
  CHECK(none.output == run_program(sizes + "--env NCCL_NET=Socket").output);
  CHECK(none.output != run_program(sizes).output);
}

}  // namespace
}  // namespace shardsim

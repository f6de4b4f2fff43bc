// Faults that were found by trying to break the program: each stays mended.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

/// Status of the program where its streams go as `redirection` says.
int status_of(const std::string& arguments, const std::string& redirection) {
  const std::string command = std::string(SHARDSIM_PROGRAM) + " " + arguments + " " + redirection;
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

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

TEST_CASE(
    "a log of reference kernels that lacks sizes, or whose times run backwards, is no match") {
  const ScratchFolder scratch;
  const std::string works = scratch.write("log.json", "");
  const std::string log = scratch.write("log.csv", "");
  REQUIRE(run_program("collective all_reduce --topology virtual-ranks --gpus 4 -b 4K -e 8K "
                      "--fidelity chunk --chunk-work " +
                      works + " --chunk-trace " + log)
              .status == 0);
  CHECK(run_program("validate --reference " + log).status == 0);
  const std::string text = read_text(log);
  std::ofstream(log) << text.substr(0, text.find('\n') + 1);
  CHECK(run_program("validate --reference " + log).status == 1);
  std::ofstream(log) << text.substr(0, text.find("\n8192,") + 1);
  CHECK(run_program("validate --reference " + log).status == 1);
  for (const std::string wrong : {"nan", "-5", "inf"}) {
    CAPTURE(wrong);
    const std::size_t cell = text.find(",", text.find(",send,") + 6) + 1;
    std::string changed = text;
    changed.replace(cell, text.find('\n', cell) - cell, wrong);
    std::ofstream(log) << changed;
    CHECK(run_program("validate --reference " + log).status == 2);
  }
}

TEST_CASE("a target is looked for from small to large, also where times are prescribed") {
  const std::string sweep = "sweep " + shipped_scenario("textbook-fsdp2") + " ";
  CHECK(run_program(sweep + "--target 'step.time_s < 3 s'").status == 0);
  const ProgramRun wrong =
      run_program(sweep + "--target 'step.time_s < 3 s' --over cluster.nodes=3,1,2");
  CHECK(wrong.status == 2);
  CHECK(wrong.messages.find("found 1 out of order") != std::string::npos);
  CHECK(run_program(sweep + "--best ''").status == 2);
}

TEST_CASE("a part of a sweep with more points than a sweep has is refused") {
  const ScratchFolder scratch;
  const std::string part = scratch.write("part.jsonl", "");
  REQUIRE(run_program("sweep " + shipped_scenario("textbook-fsdp2") +
                      " --over cluster.nodes=1..3 --quiet --json " + part)
              .status == 0);
  CHECK(run_program("merge --quiet " + part).status == 0);
  std::string text = read_text(part);
  for (std::size_t at = 0; (at = text.find("\"of\":3", at)) != std::string::npos; ++at) {
    text.replace(at, 6, "\"of\":9223372036854775807");
  }
  std::ofstream(part) << text;
  const ProgramRun run = run_program("merge " + part);
  CHECK(run.status == 2);
  CHECK(run.messages.find("part.jsonl:1:") != std::string::npos);
  CHECK(run_program("merge .").status == 2);
}

TEST_CASE("two outputs of any command never go to one file") {
  const ScratchFolder scratch;
  const std::string same = scratch.write("same", "kept");
  for (const std::string& command :
       {"merge " + same + " --json " + same + " --csv " + same,
        "collective all_reduce --topology dgx-h100 --fidelity chunk --chunk-work " + same +
            " --chunk-trace " + same,
        "validate --training x.csv --residuals " + same + " --json " + same,
        "run " + shipped_scenario("textbook-fsdp2") + " --json " + same + " --report " + same,
        "sweep " + shipped_scenario("textbook-fsdp2") + " --over cluster.nodes=1,2 --json " + same +
            " --csv " + same}) {
    CAPTURE(command);
    const ProgramRun run = run_program(command);
    CHECK(run.status == 2);
    CHECK(run.messages.find("both go to") != std::string::npos);
    CHECK(read_text(same) == "kept");
  }
}

TEST_CASE("output that is lost is a failure of every command") {
  for (const std::string command : {"--help", "--version", "topology dgx-h100", "quiz solve",
                                    "collective all_reduce --topology dgx-h100"}) {
    CAPTURE(command);
    CHECK(status_of(command, "> /dev/full 2> /dev/null") == 2);
  }
}

TEST_CASE("a closed standard stream does not get into a file") {
  const ScratchFolder scratch;
  const std::string file = scratch.write("points.jsonl", "");
  run_program("sweep " + shipped_scenario("textbook-fsdp2") + " --over cluster.nodes=1..4 --json " +
              file + " 2>&- >&-");
  std::ifstream in(file);
  int lines = 0;
  for (std::string line; std::getline(in, line); ++lines) CHECK(line.starts_with("{"));
  CHECK(lines == 4);
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

TEST_CASE("a limit that is no number, negative or beyond integers is refused, not lifted") {
  for (const char* limit : {"--max-time nan", "--max-time inf", "--max-events -5",
                            "--max-events 18446744073709551616", "--max-devices nan"}) {
    CAPTURE(limit);
    const ProgramRun run = run_program(two_nodes + "-b 8 -e 8 " + limit);
    CHECK(run.status == 2);
    CHECK(run.messages.find("not in range") != std::string::npos);
  }
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

TEST_CASE("a file that is not there yet is one file under two names") {
  const ProgramRun run = run_program("run " + shipped_scenario("textbook-fsdp2") +
                                     " --quiet --json ./shardsim-none --trace shardsim-none");
  CHECK(run.status == 2);
  CHECK(run.messages.find("both go to") != std::string::npos);
}

TEST_CASE("a table without rows is no table") {
  const ScratchFolder scratch;
  const std::string runs =
      read_text(std::string(SHARDSIM_SOURCE_DIR) + "/validation/examples/published-runs.csv");
  const std::string table = scratch.write("runs.csv", runs.substr(0, runs.find('\n') + 1));
  const ProgramRun run = run_program("validate --training " + table);
  CHECK(run.status == 2);
  CHECK(run.messages.find("a header alone") != std::string::npos);
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

TEST_CASE("where there is no result, outputs that are not written are named and stay") {
  const ScratchFolder scratch;
  const std::string old = scratch.write("old.json", "kept");
  const std::string run = "run " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100");
  if (allocations_throw) {
    const ProgramRun memory = run_program(run + " --max-memory 16MiB --exact-ranks --json " + old +
                                          " --set cluster.nodes=1000");
    CHECK(memory.status == 1);
    CHECK(memory.messages.find("no output is written") != std::string::npos);
  }
  const ProgramRun dead = run_program(
      run + " --set 'perturb=[{rank: 3, dies_at: 100 ms}]' --exact-ranks --json " + old);
  CHECK(dead.status == 1);
  CHECK_MESSAGE(dead.messages.find("not written: --json " + old) != std::string::npos,
                dead.messages);
  const ProgramRun stopped = run_program(run + " --max-events 20 --json - --report " + old);
  CHECK(stopped.status == 1);
  CHECK(stopped.messages.find("not written: --report " + old) != std::string::npos);
  CHECK(read_text(old) == "kept");
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

TEST_CASE("a log of reference kernels that is a folder is told once") {
  const ProgramRun run = run_program("validate --reference .");
  CHECK(run.status == 2);
  CHECK(run.messages.find("..json") == std::string::npos);
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

TEST_CASE("a file that is read is not overwritten, whoever names it") {
  const ScratchFolder scratch;
  const std::string topology = scratch.write("mine.yaml", "extends: dgx-h100\n");
  const std::string prices = scratch.write("prices.yaml", "kept");
  const std::string scenario = shipped_scenario("fsdp2-llama-3-8b-1xdgx-h100");
  const std::string points = scratch.file("points.jsonl");
  REQUIRE(run_program("sweep " + scenario + " --quiet --over cluster.nodes=1 --json " + points)
              .status == 0);
  const std::string line = read_text(points);
  for (const std::string& arguments :
       {"run " + scenario + " --set cluster.topology=" + topology + " --json " + topology,
        "sweep " + scenario + " --over cluster.nodes=1 --csv " + prices,
        "collective all_reduce --topology dgx-h100 --json " + prices,
        "merge " + points + " --csv " + points, "merge " + points + " --report " + points}) {
    CAPTURE(arguments);
    const ProgramRun run = run_program(arguments);
    CHECK(run.status == 2);
    CHECK(run.messages.find("expected another file") != std::string::npos);
  }
  CHECK(read_text(topology) == "extends: dgx-h100\n");
  CHECK(read_text(prices) == "kept");
  CHECK(read_text(points) == line);
}

TEST_CASE("options without a value, numbers of C and two values of one variable are refused") {
  const std::string run = "run " + shipped_scenario("textbook-fsdp2") + " --quiet ";
  for (const char* options :
       {"--max-memory ''", "--max-memory=", "--max-events 010", "--max-events 0x10", "--json ''",
        "--trace /dev/null --trace-ranks all"}) {
    CAPTURE(options);
    CHECK(run_program(run + options).status == 2);
  }
  CHECK(run_program(run + "--max-events 100000").status == 0);
  CHECK(run_program("sweep textbook-fsdp2 --shard '' --over cluster.nodes=1").status == 2);
  for (const char* options :
       {"--env NCCL_ALGO=Ring --env NCCL_ALGO=Tree", "--env NCCL_ALGO=Ring --algo Tree"}) {
    CAPTURE(options);
    const ProgramRun made = run_program(two_nodes + "-b 1M -e 1M " + options);
    CHECK(made.status == 2);
    CHECK(made.messages.find("NCCL_ALGO was given as") != std::string::npos);
  }
  CHECK(run_program(two_nodes + "-b 1M -e 1M --env NCCL_ALGO=Ring --algo Ring").status == 0);
}

TEST_CASE("folders that are not there end no program") {
  const std::string sweep = "sweep " + shipped_scenario("fsdp2-llama-3-8b-1xdgx-h100") +
                            " --quiet --over cluster.nodes=1";
  const std::string program = std::string(SHARDSIM_PROGRAM) + " ";
  const auto status = [](const std::string& command) {
    return WEXITSTATUS(std::system((command + " >/dev/null 2>&1").c_str()));
  };
  for (const char* folder : {"/nonexistent", "''", "/dev/null"}) {
    CAPTURE(folder);
    CHECK(status("TMPDIR=" + std::string(folder) + " " + program + sweep) == 0);
  }
  CHECK(status("TMPDIR=/proc " + program + sweep) == 2);
  const ScratchFolder scratch;
  const std::string gone = scratch.file("gone");
  CHECK(status("mkdir " + gone + " && cd " + gone + " && rmdir " + gone + " && " + program + sweep +
               " --json x --submit slurm --dry-run") == 2);
}

TEST_CASE("rules that set no number of GPUs are refused at their place") {
  const ScratchFolder scratch;
  const std::string table = scratch.write("runs.csv",
                                          "row_id,source_id,framework,model,params_b,layers,hidden,"
                                          "heads,kv_heads,ffn,vocab,seq_len,gpu,"
                                          "gpus,micro_batch,step_time_s\n");
  for (const char* value :
       {"abc", "1.5", "0", "-3", "1025", "99999999999999999999", "''", "0x8", "8 "}) {
    CAPTURE(value);
    const std::string rules = scratch.write("rules.yaml",
                                            "rules:\n  - when: {framework: [\"*\"]}\n    set: "
                                            "{cluster.gpus_per_node: \"" +
                                                std::string(value) + "\"}\nmemory: []\n");
    const ProgramRun run = run_program("validate --training " + table + " --rules " + rules);
    CHECK(run.status == 2);
    CHECK(
        run.messages.find("rules.yaml:3:34: error: cluster.gpus_per_node: expected a whole number "
                          "from 1 to 1024") != std::string::npos);
  }
}

TEST_CASE("a rule's value is held to what its key declares, at its place, met by a run or not") {
  const ScratchFolder scratch;
  const std::string table = scratch.write("runs.csv",
                                          "row_id,source_id,framework,model,params_b,layers,hidden,"
                                          "heads,kv_heads,ffn,vocab,seq_len,gpu,"
                                          "gpus,micro_batch,step_time_s\n");
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"steps.measure: 1e99", "3:26: error: steps.measure: expected an integer, found '1e99'"},
      {"cluster.nodes: 99999999999", "3:26: error: cluster.nodes: must be between 1 and 1000000"},
      {"workload.sequence_length: -1", "3:37: error: workload.sequence_length: must be between"},
      {"training.optimizer: adamx", "did you mean 'adamw'?"},
      {"training.cpu_offload: 2", "3:33: error: training.cpu_offload: expected true or false"},
      {"cpu.forward_op: 3", "3:27: error: cpu.forward_op: expected a number with a unit"},
      {"training.optimiser: sgd", "3:11: error: 'training.optimiser' is no key of a scenario"},
      {"cluster.nodes.x: 1", "3:11: error: 'cluster.nodes' has no keys below it"}};
  for (const auto& [set, message] : wrong) {
    CAPTURE(set);
    const std::string rules =
        scratch.write("rules.yaml", "rules:\n  - when: {framework: [\"no run\"]}\n    set: {" +
                                        set + "}\nmemory: []\n");
    const ProgramRun run = run_program("validate --training " + table + " --rules " + rules);
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(message) != std::string::npos, run.messages);
  }
}

TEST_CASE("traces of several ranks do not all go to one device or pipe, nor beside it") {
  const ScratchFolder scratch;
  const std::string pipe = scratch.file("pipe");
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  for (const std::string& target : {std::string("/dev/stdout"), std::string("/dev/null"), pipe}) {
    CAPTURE(target);
    const ProgramRun run = run_program("run " + shipped_scenario("textbook-fsdp2") +
                                       " --quiet --trace-ranks 0,1 --trace " + target);
    CHECK(run.status == 2);
    CHECK(run.messages.find("both go to '" + target + "'") != std::string::npos);
    CHECK_FALSE(std::filesystem::exists(target + ".rank0"));
  }
}

TEST_CASE("measured points and prices that no point of a sweep shows are said") {
  const ScratchFolder scratch;
  const std::string sweep = "sweep " + shipped_scenario("fsdp2-llama-3-8b-1xdgx-h100") +
                            " --quiet --over cluster.nodes=1 ";
  const auto messages = [&](const std::string& row, const std::string& output) {
    const std::string file = scratch.write("m.csv", "gpus,throughput_per_gpu\n" + row + "\n");
    return run_program(sweep + "--measured " + file + output).messages;
  };
  const std::string json = " --json " + scratch.file("points.jsonl");
  CHECK(messages("8,9000", "").find("shown by --report and --json only") != std::string::npos);
  CHECK(messages("7,9000", json).find("no point has as many GPUs") != std::string::npos);
  CHECK(messages("8,9000", json).find("--measured") == std::string::npos);
  for (const char* row : {"8.5,9000", "008,9000", "0,9000", "99999999999999999999,1"}) {
    CAPTURE(row);
    CHECK(messages(row, json).find("m.csv:2:1: error: expected a whole number of GPUs") !=
          std::string::npos);
  }
  const std::string prices = scratch.write("p.yaml", "dated: 2026-01\ngpus: {}\n");
  CHECK(run_program(sweep + "--prices " + prices).messages.find("no price of H100") !=
        std::string::npos);
  CHECK(run_program(sweep + "--prices list-2026").messages.find("no price") == std::string::npos);
}

}  // namespace
}  // namespace shardsim

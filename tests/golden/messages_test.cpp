// What a message says about where a fault stands, what was meant, and which files it concerns.
#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include <doctest/doctest.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

const std::string one_size = "collective all_reduce --topology dgx-h100 -b 8 -e 8 ";
const std::string scenario = "fsdp2-llama-3-8b-1xdgx-h100 ";
const std::string swept = "sweep " + scenario;

struct Refused {
  std::string arguments;
  std::string message;
};

void check_refused(const std::vector<Refused>& cases) {
  for (const Refused& one : cases) {
    CAPTURE(one.arguments);
    const ProgramRun run = run_program(one.arguments);
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(one.message) != std::string::npos, run.messages);
  }
}

/// The table of published runs, its header and first run, with one text replaced.
std::string one_run(const std::string& before, const std::string& after) {
  std::string text =
      read_text(std::string(SHARDSIM_SOURCE_DIR) + "/validation/examples/published-runs.csv");
  text = text.substr(0, text.find('\n', text.find('\n') + 1) + 1);
  const std::size_t at = text.find(before);
  REQUIRE(at != std::string::npos);
  return text.replace(at, before.size(), after);
}

TEST_CASE("what is wrong in an option is told at its place in it") {
  check_refused({
      {one_size + "--algo Foo", "--algo:1:8: error: NCCL_ALGO knows no 'Foo'"},
      {one_size + "--proto LL12", "--proto:1:9: error: NCCL_PROTO knows no 'LL12'"},
      {one_size + "--env NCCL_BUFFSIZE=bad", "--env:1:21: error: NCCL_BUFFSIZE: expected"},
      {one_size + "--env NCCL_ALGO", "--env:1:7: error: expected NAME=VALUE"},
      {one_size + "--nccl-version 3", "--nccl-version:1:16: error: expected a version"},
      {one_size + "--gpus 99", "--gpus:1:8: error: a node of topology 'dgx-h100' has 8 GPUs"},
      {"topology dgx-h100 --gpus 99", "--gpus:1:8: error: "},
      {swept + "--over cluster.nodes=1 --over cluster.nodes=2",
       "--over:1:8: error: two axes set 'cluster.nodes'"},
      {swept + "--over cluster.nodes=1..", "--over:1:22: error: expected a value, or a range"},
      {swept + "--over cluster.nodes=1..8*", "--over:1:22: error: expected a value, or a range"},
      {swept + "--over nodes=1", "did you mean 'cluster.nodes'?"},
      {swept + "--over nodes=1-8", "did you mean '1..8'?"},
  });
}

TEST_CASE("what has no place is told in the name of the command") {
  check_refused({
      {"topology dgx-h10", "shardsim topology: there is no topology 'dgx-h10'"},
      {"collective all_reduce --topology dgx-h10", "shardsim collective: there is no topology"},
      {swept + "--over cluster.nodes=1..100000 --over steps.measure=1..100000",
       "shardsim sweep: the axes have"},
      {"run " + scenario + "--data /dev/null", "shardsim run: "},
      {"validate --training published-runs --data /dev/null", "shardsim validate: "},
  });
}

TEST_CASE("a hint names what was meant: a scenario, a model, a key, a list of prices") {
  check_refused({
      {"run llama-2-7b", "did you mean '"},
      {"run " + scenario + "--set workload.model=meta-llama/Llama-2-7b-hf",
       "did you mean 'llama-2-7b'?"},
      {"run " + scenario + "--set training.tensor_parallel=2",
       "--set:1:16: error: tensor parallelism is not simulated"},
      {"run " + scenario + "--set workload.batch_size=2",
       "did you mean 'workload.micro_batch_size'?"},
      {"run " + scenario + "--set num_nodes=2", "did you mean 'cluster.nodes'?"},
      {swept + "--over cluster.nodes=1 --prices foo",
       "shardsim sweep: --prices: there is no list 'foo': expected list-2026, or a file"},
      {swept + "--over cluster.nodes=1 --prices list-202", "did you mean 'list-2026'?"},
  });
}

TEST_CASE("a list of prices has a day, and what it has no price for is said") {
  const ScratchFolder scratch;
  const auto with = [&scratch](const std::string& text) {
    return run_program(swept + "--quiet --over cluster.nodes=1 --json - --prices " +
                       scratch.write("prices.yaml", text));
  };
  const std::string none = "gpus: {}\n";
  for (const char* day :
       {"tomorrow", "2026-13-45", "2026-02-30", "2026-1-1", "2026-00", "\"2026-01-3a\""}) {
    CAPTURE(day);
    const ProgramRun run = with("dated: " + std::string(day) + "\n" + none);
    CHECK(run.status == 2);
    CHECK(run.messages.find("prices.yaml:1:8: error: dated: expected a day") != std::string::npos);
  }
  const ProgramRun run = with("dated: 2026-02-28\n" + none);
  CHECK(run.status == 0);
  CHECK(run.output.find("no cost: the list of prices has none of") != std::string::npos);
}

TEST_CASE("a figure of cost without prices says what is missing") {
  for (const char* option :
       {"--best cost.per_step", "--plot cost.per_hour", "--target 'cost.per_million_tokens < 1'",
        "--best tokens_per_s --subject-to 'cost.per_hour < 100'"}) {
    CAPTURE(option);
    const ProgramRun run = run_program(swept + "--over cluster.nodes=1 " + option);
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(" needs --prices") != std::string::npos, run.messages);
  }
}

TEST_CASE("a word that a column of published runs cannot hold is told at its place") {
  const ScratchFolder scratch;
  for (const auto& [before, after, message] :
       {std::tuple{",A,pretrain,", ",a,pretrain,", "trust: expected one of A, B, C or nothing"},
        std::tuple{",pretrain,ok,", ",pretrain,OMM,", "did you mean 'OOM'?"},
        std::tuple{",ok,FSDP1,", ",oky,FSDP1,", "runs.csv:2:"}}) {
    CAPTURE(after);
    const ProgramRun run =
        run_program("validate --training " + scratch.write("runs.csv", one_run(before, after)));
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(message) != std::string::npos, run.messages);
  }
}

TEST_CASE("a text of published runs that no rule knows is no default") {
  const ScratchFolder scratch;
  for (const auto& [before, after, message] :
       {std::tuple{",FSDP1,", ",FSDP3,", "no rule for framework 'FSDP3'; did you mean 'FSDP'?"},
        std::tuple{",FULL_SHARD,", ",FUL_SHARD,",
                   "no rule for sharding 'FUL_SHARD'; did you mean 'FULL_SHARD'?"},
        std::tuple{",512,8,,", ",512,8,pigeons,", "no rule for internode_net 'pigeons'"},
        std::tuple{"flash-attn (triton impl option)", "falsh", "no rule for attn_kernel 'falsh'"},
        std::tuple{",pretrain,", ",pretrian,", "no rule for task 'pretrian'; did you mean"}}) {
    CAPTURE(after);
    const ProgramRun run =
        run_program("validate --training " + scratch.write("runs.csv", one_run(before, after)));
    CHECK(run.status == 2);
    CHECK_MESSAGE(run.messages.find(message) != std::string::npos, run.messages);
  }
}

TEST_CASE("two keys that null removes are each missed where they were removed") {
  const ScratchFolder scratch;
  const ProgramRun run = run_program(
      "topology " +
      scratch.write("t.yaml", "name: t\nextends: dgx-h100\ngpu: null\nnode:\n  gpus: null\n"));
  CHECK(run.status == 2);
  CHECK_MESSAGE(
      run.messages.find("t.yaml:3:6: error: missing required key 'gpu'") != std::string::npos,
      run.messages);
  CHECK(run.messages.find("t.yaml:5:9: error: node: missing required key 'gpus'") !=
        std::string::npos);
  const ProgramRun both = run_program(
      "topology " + scratch.write("b.yaml", "name: b\nextends: dgx-h100\ngpu: null\nnode: null\n"));
  CHECK_MESSAGE(
      both.messages.find("b.yaml:3:6: error: missing required key 'gpu'") != std::string::npos,
      both.messages);
  CHECK(both.messages.find("b.yaml:4:7: error: missing required key 'node'") != std::string::npos);
}

TEST_CASE(
    "files that are named after an output take part in the check that none is written twice") {
  const ScratchFolder scratch;
  const std::string json = scratch.file("zz.rank0.json");
  check_refused({
      {"run " + scenario + "--quiet --json " + json + " --trace " + scratch.file("zz.json") +
           " --trace-ranks all",
       "--json and --trace of rank 0 both go to"},
      {"topology dgx-h100 --json " + json + " --env NCCL_TOPO_DUMP_FILE=" + json,
       "--json and NCCL_TOPO_DUMP_FILE both go to"},
      {"topology dgx-h100 --json " + json + " --dot " + json, "--json and --dot both go to"},
      {one_size + "--json " + json + " --env NCCL_GRAPH_DUMP_FILE=" + json,
       "--json and NCCL_GRAPH_DUMP_FILE both go to"},
      {one_size + "--env NCCL_GRAPH_DUMP_FILE=" + json + " --env NCCL_TOPO_DUMP_FILE=" + json,
       "NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE both go to"},
      {swept + "--over cluster.nodes=1 --csv " + scratch.file("a.csv") + " --report " +
           scratch.file("a.csv.points.jsonl"),
       "--report and the points of --csv both go to"},
  });
  CHECK(!std::filesystem::exists(json));
  const std::string xml = scratch.file("machine.xml");
  CHECK(run_program("topology dgx-h100 --env NCCL_TOPO_DUMP_FILE=" + xml).status == 0);
  const std::string before = read_text(xml);
  check_refused({{"topology " + xml + " --json " + xml, "which is the topology"},
                 {"topology dgx-h100 --env NCCL_TOPO_FILE=" + xml + " --json " + xml,
                  "which is NCCL_TOPO_FILE"}});
  CHECK(read_text(xml) == before);
}

TEST_CASE("a rank that is traced twice is traced once") {
  const ScratchFolder scratch;
  const ProgramRun run = run_program("run " + scenario + "--quiet --trace " +
                                     scratch.file("t.json") + " --trace-ranks 0,0");
  CHECK_MESSAGE(run.status == 0, run.messages);
  CHECK(std::filesystem::exists(scratch.file("t.json")));
}

TEST_CASE("more NICs than an integer counts are no policy") {
  check_refused({{one_size + "--env NCCL_NETDEVS_POLICY=MAX:99999999999999",
                  "NCCL_NETDEVS_POLICY: expected AUTO, ALL or MAX:n with n from 1 to 2147483647"}});
}

TEST_CASE("a graph file without bandwidth is to blame itself") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("graph.xml");
  CHECK(run_program(one_size + "--env NCCL_GRAPH_DUMP_FILE=" + file).status == 0);
  std::string text = read_text(file);
  const std::size_t at = text.find("speedintra=\"");
  REQUIRE(at != std::string::npos);
  const std::size_t value = at + std::string("speedintra=\"").size();
  text.replace(value, text.find('"', value) - value, "0");
  scratch.write("graph.xml", text);
  const ProgramRun run = run_program(one_size + "--env NCCL_GRAPH_FILE=" + file);
  CHECK(run.status == 2);
  CHECK_MESSAGE(run.messages.find("graph.xml:") != std::string::npos, run.messages);
  CHECK(run.messages.find("'speedintra'") != std::string::npos);
  CHECK(run.messages.find("NCCL_ALGO") == std::string::npos);
}

TEST_CASE("a version that lacks the type, or is newer than any known, is warned of") {
  const ProgramRun old = run_program(one_size + "-d fp8_e4m3 --nccl-version 2.18.1");
  CHECK(old.status == 0);
  CHECK_MESSAGE(old.messages.find("NCCL 2.18.1 has no type fp8_e4m3") != std::string::npos,
                old.messages);
  CHECK(run_program(one_size + "-d fp8_e4m3 --nccl-version 2.24.3").messages.empty());
  CHECK(run_program(one_size + "-d int8 --nccl-version 2.18.1").messages.empty());
  const ProgramRun newer = run_program(one_size + "--nccl-version 2.99");
  CHECK(newer.status == 0);
  CHECK_MESSAGE(newer.messages.find("warning: NCCL 2.99 is newer than 2.30.7") != std::string::npos,
                newer.messages);
}

TEST_CASE("one node may have more devices than a cluster may") {
  check_refused({{"topology dgx-h100 --max-devices 5",
                  "one node of topology 'dgx-h100' is too many: more than 5 devices take "
                  "--max-devices"}});
}

TEST_CASE("a part of a sweep whose points all fail ends well, and the whole does not") {
  const std::string failing = swept + "--quiet --over workload.micro_batch_size=4096,8192 --json ";
  const ScratchFolder scratch;
  const std::string part = scratch.file("part.jsonl");
  CHECK(run_program(failing + part + " --shard 1/2").status == 0);
  CHECK(run_program(failing + scratch.file("whole.jsonl")).status == 1);
  const std::string other = scratch.file("other.jsonl");
  CHECK(run_program(failing + other + " --shard 2/2").status == 0);
  CHECK(
      run_program("merge --quiet " + part + " " + other + " --json " + scratch.file("merged.jsonl"))
          .status == 1);
}

}  // namespace
}  // namespace shardsim

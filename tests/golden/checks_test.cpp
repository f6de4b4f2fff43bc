// `--check` on everything that is shipped, and budgets that are used up.
#include <filesystem>
#include <regex>
#include <string>

#include <doctest/doctest.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

/// Without what depends on the machine.
std::string without_costs(const std::string& json) {
  return json.substr(0, json.find("\"wall_s\""));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("every shipped scenario holds its invariants") {
  int scenarios = 0;
  const std::filesystem::path folder = std::filesystem::path(SHARDSIM_SOURCE_DIR) / "scenarios";
  for (const auto& one : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string file = one.path().string();
    const std::string kind = one.path().parent_path().filename().string();
    if (!file.ends_with(".yaml") || (kind != "scenarios" && kind != "pairs")) continue;
    CAPTURE(file);
    const ProgramRun run = run_program("run --check " + file);
    CHECK_MESSAGE(run.status == 0, run.messages);
    CHECK(has(run.output, "\nchecks: "));
    CHECK(has(run.output, " invariants held over "));
    ++scenarios;
  }
  CHECK(scenarios > 40);
}

TEST_CASE("a run, a sweep and a collective give the same bytes with their invariants watched") {
  const ScratchFolder scratch;
  for (const char* name :
       {"textbook-fsdp2", "fsdp2-llama-2-7b-4xdgx-h100", "two-jobs-llama-2-7b-fat-tree",
        "gpu-spread-llama-2-7b-32xdgx-h100", "flapping-nic-llama-2-7b-4xdgx-h100"}) {
    CAPTURE(name);
    const std::string run = "run --quiet --json - " + shipped_scenario(name);
    const ProgramRun plain = run_program(run);
    const ProgramRun checked = run_program(run + " --check");
    CHECK(plain.status == 0);
    CHECK(checked.status == 0);
    CHECK(without_costs(plain.output) == without_costs(checked.output));
  }
  const std::string sweep =
      "sweep " + shipped_scenario("textbook-fsdp2") + " --over cluster.nodes=1..4 ";
  const ProgramRun plain = run_program(sweep + "--json -");
  const ProgramRun checked = run_program(sweep + "--json - --check");
  CHECK(plain.output == checked.output);
  CHECK(has(checked.messages, "checks: "));
  for (const std::string fidelity : {"flow", "chunk", "model"}) {
    const std::string collective =
        "collective all_reduce --topology dgx-h100 --nodes 2 -b 8 -e 64M -f 8 --fidelity " +
        fidelity;
    const std::string table = run_program(collective).output;
    const ProgramRun watched = run_program(collective + " --check");
    CHECK(watched.status == 0);
    CHECK(watched.output.starts_with(table));
    CHECK(has(watched.output.substr(table.size()), "# checks: "));
  }
}

TEST_CASE("collectives of every kind, algorithm and fidelity hold their invariants") {
  for (const std::string machine : {"--topology dgx-h100 --nodes 2", "--topology dgx-a100",
                                    "--topology pcie-8xl40s", "--topology gb200-nvl72 --nodes 4"}) {
    for (const std::string name : {"all_reduce", "all_gather", "reduce_scatter", "broadcast",
                                   "reduce", "alltoall", "sendrecv"}) {
      for (const std::string fidelity : {"flow", "chunk"}) {
        CAPTURE(machine);
        CAPTURE(name);
        CAPTURE(fidelity);
        const ProgramRun run = run_program("collective " + name + " " + machine +
                                           " -b 1K -e 64M -f 32 --check --fidelity " + fidelity);
        CHECK_MESSAGE(run.status == 0, run.messages);
      }
    }
  }
  for (const std::string way : {"--algo Tree --proto Simple", "--algo Tree --proto LL",
                                "--algo NVLS --proto Simple", "--algo NVLSTree --proto Simple"}) {
    CAPTURE(way);
    const ProgramRun run = run_program(
        "collective all_reduce --topology dgx-h100 --nodes 2 -b 1K -e 8M -f 32 --check "
        "--fidelity chunk " +
        way);
    CHECK_MESSAGE(run.status == 0, run.messages);
  }
}

TEST_CASE("pieces of switches that differ in size are no broken invariant") {
  for (const char* arguments :
       {"--topology dgx-h100 -b 36 -e 36 -d half --algo NVLS --proto Simple",
        "--topology dgx-h100 --gpus 7 -b 16M -e 16M",
        "--topology dgx-h100 --nodes 2 -b 823540 -e 823540",
        "--topology dgx-h100 --nodes 2 -b 16M -e 16M --env NCCL_MAX_CTAS=1",
        "--topology dgx-h100 --nodes 2 -b 64M -e 64M --env NCCL_MAX_CTAS=2",
        "--topology gb200-nvl72 --nodes 3 -b 4M -e 16M -f 4",
        "--topology gb200-nvl576 --nodes 7 -b 4M -e 4M"}) {
    CAPTURE(arguments);
    const ProgramRun run =
        run_program(std::string("collective all_reduce --fidelity chunk --check ") + arguments);
    CHECK_MESSAGE(run.status == 0, run.messages);
  }
}

TEST_CASE("a run beyond its events stops, tells how far it came, and writes that whole") {
  const ScratchFolder scratch;
  const std::string json = scratch.file("result.json");
  const std::string scenario = shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100");
  const ProgramRun run = run_program("run " + scenario + " --max-events 2000 --json " + json +
                                     " --timeline " + scratch.file("none.json"));
  CHECK(run.status == 1);
  CHECK(has(run.messages, "stopped: --max-events 2000 is used up"));
  CHECK(has(run.messages, "in 2000 events, in step 2 of 3"));
  CHECK(has(run.messages, "rank 0: "));
  CHECK(has(run.messages, "compute: "));
  const std::string text = read_text(json);
  CHECK(has(text, "\"stopped\""));
  CHECK(has(text, "\"step\": null"));
  CHECK(!std::filesystem::exists(scratch.file("none.json")));
  CHECK(run_program("run --quiet " + scenario + " --max-events 100000000").status == 0);
}

TEST_CASE("a point beyond its events is told as such, and a larger budget runs it again") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("points.jsonl");
  const std::string sweep = "sweep " + shipped_scenario("textbook-fsdp2") +
                            " --over cluster.nodes=1..3 --quiet --json " + file;
  CHECK(run_program(sweep + " --max-events 10").status == 1);
  CHECK(has(read_text(file), "\"kind\":\"over_budget\""));
  CHECK(run_program(sweep + " --resume").status == 0);
  const std::string resumed = read_text(file);
  CHECK(!has(resumed, "over_budget"));
  CHECK(run_program(sweep).status == 0);
  CHECK(read_text(file) == resumed);
}

TEST_CASE("real time that is used up ends a command with status 1") {
  const std::string scenario = shipped_scenario("fsdp2-llama-3-405b-64xdgx-h100");
  const ProgramRun run = run_program("run --exact-ranks " + scenario + " --max-time 0.05");
  CHECK(run.status == 1);
  CHECK(has(run.messages, "--max-time 0.05 is used up"));
  const ScratchFolder scratch;
  const std::string file = scratch.file("points.jsonl");
  const ProgramRun sweep =
      run_program("sweep " + scenario + " --over cluster.nodes=16..64 --max-time 0.3 --json " +
                  file + " --csv " + scratch.file("points.csv"));
  CHECK(sweep.status == 1);
  CHECK(has(sweep.messages, "--max-time 0.3 is used up"));
  CHECK(!std::filesystem::exists(scratch.file("points.csv")));
}

TEST_CASE("memory that is used up ends a run, and fails the point of a sweep" *
          doctest::skip(!allocations_throw)) {
  const std::string scenario = shipped_scenario("fsdp2-llama-3-405b-64xdgx-h100");
  const std::string large = " --set cluster.nodes=20000 --max-memory 64MiB";
  const ProgramRun run = run_program("run " + scenario + large);
  CHECK(run.status == 1);
  CHECK(has(run.messages, "--max-memory"));
  const ProgramRun sweep = run_program("sweep " + scenario +
                                       " --over cluster.nodes=16,20000 -j 1 --json - "
                                       "--max-memory 96MiB");
  CHECK(sweep.status == 1);
  CHECK(has(sweep.output, "more memory than --max-memory allows"));
}

TEST_CASE("a limit of memory that no program fits into is refused") {
  const std::string scenario = shipped_scenario("fsdp2-llama-3-405b-64xdgx-h100");
  const ProgramRun wrong = run_program("run " + scenario + " --max-memory 4");
  CHECK(wrong.status == 2);
  CHECK(has(wrong.messages, "--max-memory"));
}

TEST_CASE("a cluster beyond its limits names the option that raises them") {
  const std::string topology = "topology dgx-h100 --nodes 300000";
  const ProgramRun run = run_program(topology);
  CHECK(run.status == 2);
  CHECK(has(run.messages, "--max-devices"));
  CHECK(run_program("topology dgx-h100 --nodes 2 --max-devices 30").status == 2);
  CHECK(run_program("topology dgx-h100 --nodes 2 --max-devices 100").status == 0);
}

TEST_CASE("a deadlock says who waits for what, and ends with status 1") {
  const ProgramRun run =
      run_program("run --check " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100") +
                  " --set 'perturb=[{rank: 3, dies_at: 100 ms}]'");
  CHECK(run.status == 1);
  CHECK(has(run.messages, "rank 3 died at 100 ms, and the others wait for it"));
  CHECK(has(run.messages, "on communicator"));
}

}  // namespace
}  // namespace shardsim

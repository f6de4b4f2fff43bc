// What summaries say of themselves: which figure it is, what was searched, what stayed.
#include <cstdint>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string one_machine = "fsdp2-llama-3-8b-1xdgx-h100";

}  // namespace

TEST_CASE("run and sweep put the same figure of memory first") {
  const std::string scenario = shipped_scenario(one_machine);
  const ProgramRun run = run_program("run " + scenario + " --json -");
  const Json memory = Json::parse(run.output)["memory"];
  CHECK(memory["peak_used_bytes"].get<std::int64_t>() ==
        memory["peak_reserved_bytes"].get<std::int64_t>() +
            memory["outside_allocator_bytes"].get<std::int64_t>());
  // The summary goes to standard error then.
  const std::size_t end = run.messages.find(" used at the peak");
  REQUIRE(end != std::string::npos);
  const std::size_t begin = run.messages.rfind('\n', end) + 1;
  const std::string line = run.messages.substr(begin, end - begin);
  const std::string figure = line.substr(2, line.find(" of ") - 2);
  CHECK(has(run.messages, "reserved by the allocator"));
  const ProgramRun sweep = run_program("sweep " + scenario + " --over cluster.nodes=1");
  CHECK(has(sweep.output, "memory used"));
  CHECK(has(sweep.output, figure));
}

TEST_CASE("a title that changes may belie says what was changed") {
  const std::string scenario = shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100");
  CHECK(run_program("run " + scenario).output.starts_with("Llama 2 7B, FSDP2, four DGX H100\n"));
  const ProgramRun run = run_program("run " + scenario + " --set cluster.nodes=8");
  CHECK(run.output.starts_with(
      "Llama 2 7B, FSDP2, four DGX H100 (changed: cluster.nodes=8)\n64 x H100"));
}

TEST_CASE("the best of a search comes with what was searched, and who vouches for it") {
  const std::string scenario = shipped_scenario(one_machine);
  const ProgramRun run =
      run_program("sweep " + scenario +
                  " --best tokens_per_s --over training.strategy=ddp,zero3,fsdp2 "
                  "--over workload.micro_batch_size=1,64");
  CHECK(run.status == 0);
  CHECK(has(run.output, "Searched 6 points: "));
  CHECK(has(run.output, " ran, "));
  CHECK(has(run.output, " out of memory"));
  CHECK(has(run.output, "training.strategy                      ddp, zero3, fsdp2\n"));
  const ProgramRun zero =
      run_program("sweep " + scenario + " --best tokens_per_s --over training.strategy=zero3");
  CHECK(has(zero.output, "No published run is comparable with it"));
  CHECK(has(zero.output, "Nor with any other point of the search."));
  const ProgramRun fsdp =
      run_program("sweep " + scenario + " --best tokens_per_s --over training.strategy=fsdp2");
  CHECK(has(fsdp.output, "published runs are comparable with it: FSDP"));
}

TEST_CASE("the smallest cluster comes with what stays as clusters grow") {
  const std::string scenario = shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100");
  CHECK(has(run_program("sweep " + scenario + " --target 'step.time_s < 1 s'").output,
            "Strong scaling: the global batch of the scenario stays"));
  CHECK(has(run_program("sweep " + scenario + " --target 'tokens_per_s > 100000'").output,
            "Weak scaling: each GPU keeps 1 x 1 sequences a step"));
}

TEST_CASE("patterns of NCCL's graphs have names") {
  const ProgramRun run = run_program("topology dgx-h100 --nodes 2");
  CHECK(has(run.output, "ring (4), 8 channels of 48 GB/s, over NVL"));
  CHECK(has(run.output, "between nodes"));
  CHECK(has(run.output, "NVL (NVLink)"));
  CHECK_FALSE(has(run_program("topology dgx-h100").output, "between nodes"));
}

TEST_CASE("advice names the largest micro-batch that fits") {
  const std::string command = "run " + shipped_scenario(one_machine) + " --quiet --json - --set ";
  const ProgramRun run = run_program(command + "workload.micro_batch_size=23");
  REQUIRE(run.status == 1);
  std::int64_t largest = 0;
  const Json result = Json::parse(run.output);
  for (const Json& one : result["out_of_memory"]["suggestions"]) {
    if (one["key"] != "workload.micro_batch_size") continue;
    CHECK(largest == 0);
    largest = std::stoll(one["value"].get<std::string>());
  }
  REQUIRE(largest > 0);
  const auto status_of = [&](std::int64_t size) {
    return run_program(command + "workload.micro_batch_size=" + std::to_string(size)).status;
  };
  CHECK(status_of(largest) == 0);
  CHECK(status_of(largest + 1) == 1);
}

TEST_CASE("a topology takes away what it inherits with null") {
  const ScratchFolder folder;
  folder.write("plain.yaml", "name: plain\nextends: dgx-h100\n");
  folder.write(
      "no-nics.yaml",
      "name: no-nics\nextends: plain\nnode: {nics: null}\n"
      "fabric: {kind: none, nodes_per_leaf: null, oversubscription: ~, switch_latency: ~}\n");
  const ProgramRun with = run_program("topology " + folder.file("plain.yaml"));
  CHECK(with.status == 0);
  CHECK(has(with.output, "\n  nic  "));
  const ProgramRun without = run_program("topology " + folder.file("no-nics.yaml"));
  CAPTURE(without.messages);
  CHECK(without.status == 0);
  CHECK_FALSE(has(without.output, "\n  nic  "));
  // What must be there cannot be taken away.
  folder.write("no-gpu.yaml", "name: no-gpu\nextends: dgx-h100\ngpu: ~\n");
  const ProgramRun broken = run_program("topology " + folder.file("no-gpu.yaml"));
  CHECK(broken.status == 2);
  CHECK(has(broken.messages, "gpu"));
}

TEST_CASE("a table of runs that no rule knows is refused, with the nearest value") {
  const ScratchFolder folder;
  std::string text =
      read_text(std::string(SHARDSIM_SOURCE_DIR) + "/validation/examples/published-runs.csv");
  text = text.substr(0, text.find('\n', text.find('\n') + 1) + 1);  // the header and one run
  const std::size_t gpu = text.find(",H100-80GB,");
  REQUIRE(gpu != std::string::npos);
  text.replace(gpu, std::string(",H100-80GB,").size(), ",H100-80G,");
  const ProgramRun run = run_program("validate --training " + folder.write("runs.csv", text));
  CHECK(run.status == 2);
  CHECK(has(run.messages, "none of the 1 runs"));
  CHECK(has(run.messages, "no rule for gpu 'H100-80G'; did you mean 'H100-80GB'?"));
}

TEST_CASE("a condition on measured points that no row meets is refused, with the nearest value") {
  const ScratchFolder folder;
  const std::string table =
      folder.write("m.csv", "gpus,throughput_per_gpu,gpu\n8,1000,H100\n16,900,H100\n");
  const ProgramRun run = run_program("sweep " + shipped_scenario(one_machine) +
                                     " --over cluster.nodes=1 --measured " + table + ":gpu=H10");
  CHECK(run.status == 2);
  CHECK(has(run.messages, "no row has 'H10' in column 'gpu'"));
  CHECK(has(run.messages, "H100"));
}

}  // namespace shardsim

// Memory as a result: over time, and when it does not suffice.
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

const std::string fsdp2 = shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100");

TEST_CASE("memory over the step reaches the peak and adds up at every point") {
  for (const char* name : {"fsdp2-llama-2-7b-4xdgx-h100", "fsdp1-llama-2-13b-2xdgx-a100"}) {
    CAPTURE(name);
    const ProgramRun run = run_program("run " + shipped_scenario(name) + " --quiet --json -");
    REQUIRE_MESSAGE(run.status == 0, run.messages);
    const Json result = Json::parse(run.output);
    const Json& memory = result["memory"];
    const Json& timeline = memory["timeline"];
    CHECK(timeline.size() > 100);
    CHECK(timeline.size() <= 400);
    std::int64_t most = 0;
    double time = 0;
    double device_time = 0;
    for (const Json& point : timeline) {
      std::int64_t parts = 0;
      for (const auto& [kind, bytes] : point["breakdown"].items()) {
        CHECK(bytes >= 0);
        parts += bytes.get<std::int64_t>();
      }
      CHECK(parts == point["allocated_bytes"]);
      CHECK(point["allocated_bytes"] <= point["reserved_bytes"]);
      CHECK(point["time_s"] >= time);
      CHECK(point["device_time_s"] >= device_time);
      time = point["time_s"];
      device_time = point["device_time_s"];
      most = std::max(most, parts);
    }
    CHECK(device_time <= result["step"]["time_s"]);
    CHECK(most == memory["peak_allocated_bytes"]);
    CHECK(memory["peak"]["allocated_bytes"] == most);
    CHECK(memory["peak"]["step"] == 2);
    CHECK(timeline.front()["allocated_bytes"] == memory["persistent_bytes"]);
    CHECK(timeline.back()["allocated_bytes"] == memory["persistent_bytes"]);
  }
}

TEST_CASE("the peak of a step with all activations kept belongs to the loss, before backward") {
  const ProgramRun run = run_program("run " + fsdp2 + " --json -");
  REQUIRE(run.status == 0);
  const Json peak = Json::parse(run.output)["memory"]["peak"];
  CHECK(peak["kind"] == "activations");
  CHECK(peak["operation"] == "loss.backward");
  CHECK(run.messages.find("over the step") != std::string::npos);
  CHECK(run.messages.find("at loss.backward: logits.float (activations)") != std::string::npos);
}

/// Python that replays a snapshot: blocks and segments at the end are what the trace leaves.
std::string replay(const std::string& file, const std::string& more) {
  return "python3 -c '\n"
         "import pickle\n"
         "snapshot = pickle.load(open(\"" +
         file +
         "\", \"rb\"))\n"
         "trace = snapshot[\"device_traces\"][0]\n"
         "live, reserved, time = {}, 0, 0\n"
         "for entry in trace:\n"
         "  assert entry[\"time_us\"] >= time and len(entry[\"frames\"]) <= 1\n"
         "  time, action = entry[\"time_us\"], entry[\"action\"]\n"
         "  if action == \"alloc\":\n"
         "    assert entry[\"addr\"] not in live\n"
         "    live[entry[\"addr\"]] = entry[\"size\"]\n"
         "  if action == \"free_completed\": assert live.pop(entry[\"addr\"]) == entry[\"size\"]\n"
         "  if action in (\"segment_alloc\", \"segment_map\"): reserved += entry[\"size\"]\n"
         "  if action in (\"segment_free\", \"segment_unmap\"): reserved -= entry[\"size\"]\n"
         "segments = snapshot[\"segments\"]\n"
         "assert len(live) > 100\n"
         "assert reserved == sum(segment[\"total_size\"] for segment in segments)\n"
         "assert live == {block[\"address\"]: block[\"requested_size\"] for segment in segments\n"
         "    for block in segment[\"blocks\"] if block[\"state\"] != \"inactive\"}\n"
         "for segment in segments:\n"
         "  at = segment[\"address\"]\n"
         "  for block in segment[\"blocks\"]:\n"
         "    assert block[\"address\"] == at\n"
         "    at += block[\"size\"]\n"
         "  assert at == segment[\"address\"] + segment[\"total_size\"]\n" +
         more + "'";
}

bool has_python() { return std::system("python3 -c 'import pickle' >/dev/null 2>&1") == 0; }

TEST_CASE("the memory snapshot is a pickle whose trace leads to its segments") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("memory.pickle");
  for (const char* arguments :
       {"fsdp2-llama-2-7b-4xdgx-h100", "fsdp1-llama-2-13b-2xdgx-a100",
        "fsdp2-llama-2-7b-4xdgx-h100.yaml --set allocator.expandable_segments=true"}) {
    CAPTURE(arguments);
    std::string scenario = std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/" + arguments;
    if (scenario.find(".yaml") == std::string::npos) scenario += ".yaml";
    const ProgramRun run = run_program("run " + scenario + " --quiet --memory-snapshot " + file);
    REQUIRE_MESSAGE(run.status == 0, run.messages);
    const std::string text = read_text(file);
    REQUIRE(text.size() > 2);
    CHECK(text.substr(0, 2) == "\x80\x02");
    CHECK(text.back() == '.');
    if (has_python()) CHECK(std::system(replay(file, "").c_str()) == 0);
  }
}

TEST_CASE("a snapshot of a run without enough memory ends with what was asked for") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("memory.pickle");
  const ProgramRun run =
      run_program("run " + fsdp2 + " --set workload.micro_batch_size=16 --set cluster.nodes=1 " +
                  "--memory-snapshot " + file);
  CHECK(run.status == 1);
  CHECK(read_text(file).substr(0, 2) == "\x80\x02");
  if (!has_python()) return;
  const std::string last_is_oom =
      "assert trace[-1][\"action\"] == \"oom\"\n"
      "assert trace[-1][\"size\"] > trace[-1][\"device_free\"] >= 0\n";
  CHECK(std::system(replay(file, last_is_oom).c_str()) == 0);
}

const std::string too_large = fsdp2 + " --set workload.micro_batch_size=16 --set cluster.nodes=1";

TEST_CASE("without enough memory the result says who asked for what, and what was live") {
  const ProgramRun run = run_program("run " + too_large + " --json -");
  CHECK(run.status == 1);
  const Json result = Json::parse(run.output);
  CHECK(result["schema"] == "shardsim.result/1");
  CHECK(result["step"].is_null());
  CHECK(result["throughput"].is_null());
  CHECK(result["memory"]["fits"] == false);
  CHECK_FALSE(result["memory"]["timeline"].empty());
  const Json& shortage = result["out_of_memory"];
  CHECK(shortage["rank"] == 0);
  CHECK(shortage["step"] == 0);
  CHECK(shortage["kind"] == "activations");
  CHECK(shortage["operation"].get<std::string>().starts_with(
      "layers." + shortage["unit"].get<std::string>() + "."));
  std::int64_t live = 0;
  for (const auto& [kind, bytes] : shortage["live"].items()) live += bytes.get<std::int64_t>();
  CHECK(live == shortage["allocated_bytes"]);
  const std::int64_t left = shortage["allowed_bytes"].get<std::int64_t>() -
                            shortage["reserved_bytes"].get<std::int64_t>();
  CHECK(shortage["segment_bytes"] > left);
  CHECK(shortage["requested_bytes"] > shortage["largest_cached_bytes"]);
}

TEST_CASE("of the clusters that would do, the smallest is named") {
  const std::string on = "run " + fsdp2 +
                         " --set workload.model=llama-3-70b --set "
                         "workload.activation_checkpointing=full --quiet --set cluster.nodes=";
  const ProgramRun run = run_program(on + "1");
  CHECK(run.status == 1);
  CHECK_MESSAGE(run.messages.find("cluster.nodes=3 ") != std::string::npos, run.messages);
  CHECK(run_program(on + "2").status == 1);
  CHECK(run_program(on + "3").status == 0);
}

TEST_CASE("every suggestion fits when it is followed, with the memory and speed that it promised") {
  for (const std::string& scenario :
       {too_large, shipped_scenario("ddp-gpt2-xl-1xdgx-a100") + " --set workload.model=llama-2-7b",
        shipped_scenario("hsdp-llama-2-7b-4xdgx-h100") +
            " --set workload.model=llama-3-70b --set workload.activation_checkpointing=full"}) {
    CAPTURE(scenario);
    const ProgramRun run = run_program("run " + scenario + " --quiet --json -");
    REQUIRE(run.status == 1);
    const Json shortage = Json::parse(run.output)["out_of_memory"];
    CHECK(shortage["suggestions_tried"] <= 24);
    REQUIRE_FALSE(shortage["suggestions"].empty());
    for (const Json& one : shortage["suggestions"]) {
      const std::string change =
          one["key"].get<std::string>() + "=" + one["value"].get<std::string>();
      CAPTURE(change);
      CHECK(run.messages.find(change) != std::string::npos);
      const ProgramRun again = run_program("run " + scenario + " --quiet --json - --set " + change);
      REQUIRE(again.status == 0);
      const Json result = Json::parse(again.output);
      CHECK(result["memory"]["fits"] == true);
      CHECK(result["step"]["time_s"] == one["step_time_s"]);
      CHECK(result["throughput"]["tokens_per_s_per_gpu"] == one["tokens_per_s_per_gpu"]);
      CHECK(one["used_bytes"] ==
            result["memory"]["peak_reserved_bytes"].get<std::int64_t>() +
                result["memory"]["outside_allocator_bytes"].get<std::int64_t>());
    }
  }
}

const std::string offloaded_405b =
    fsdp2 +
    " --set workload.model=llama-3-405b --set workload.activation_checkpointing=full"
    " --set training.cpu_offload=true --set cluster.nodes=";

TEST_CASE("a node without enough host memory ends the run, with its parts and what would help") {
  const ProgramRun run = run_program("run " + offloaded_405b + "1 --json - --quiet");
  CHECK(run.status == 1);
  for (const char* said : {"out of host memory", "6.46 TiB", "the node has 2 TiB",
                           "optimizer (the largest part)", "cluster.nodes=4 "}) {
    CHECK_MESSAGE(run.messages.find(said) != std::string::npos, said);
  }
  const Json result = Json::parse(run.output);
  CHECK(result["step"].is_null());
  CHECK(result["memory"]["fits"] == false);
  CHECK(result["memory"]["peak_allocated_bytes"] > 0);
  const Json& host = result["memory"]["host"];
  CHECK(host["fits"] == false);
  // Adam's moments of 405.9 billion parameters in fp32 are not rounded; pinned parts are.
  CHECK(host["optimizer_bytes"].get<double>() == doctest::Approx(405.9e9 * 8).epsilon(1e-3));
  CHECK(host["parameters_bytes"].get<double>() > 405.9e9 * 4);
  CHECK(host["parameters_bytes"].get<double>() < 405.9e9 * 8);
  const Json& shortage = result["out_of_memory"];
  CHECK(shortage["where"] == "host");
  CHECK(shortage["kind"] == "gradients");
  CHECK(shortage["allowed_bytes"] == host["capacity_bytes"]);
  CHECK(shortage["allocated_bytes"] == host["parameters_bytes"]);
  REQUIRE_FALSE(shortage["suggestions"].empty());
  for (const Json& one : shortage["suggestions"]) {
    CHECK(one["host_used_bytes"] < host["capacity_bytes"]);
  }
}

TEST_CASE("what a host holds is shown per node, halves with twice the nodes, may be unlimited") {
  const auto host_on = [](const std::string& arguments) {
    const ProgramRun run = run_program("run " + arguments + " --json - --quiet");
    REQUIRE_MESSAGE(run.status == 0, run.messages);
    return Json::parse(run.output)["memory"]["host"];
  };
  const Json eight = host_on(offloaded_405b + "8");
  const Json sixteen = host_on(offloaded_405b + "16");
  CHECK(eight["fits"] == true);
  CHECK(eight["used_bytes"] == 8 * eight["used_per_gpu_bytes"].get<std::int64_t>());
  CHECK(eight["used_bytes"].get<double>() / sixteen["used_bytes"].get<double>() ==
        doctest::Approx(2).epsilon(1e-3));
  const Json unknown = host_on(offloaded_405b + "4 --set cluster.topology=hgx-h100-80gb-800g");
  CHECK(unknown["capacity_bytes"].is_null());
  CHECK(unknown["fits"] == true);
  const std::string small = shipped_scenario("fsdp2-llama-2-13b-offload-1xdgx-a100");
  const ProgramRun text = run_program("run " + small);
  CHECK(text.output.find("host memory per node: 261 GiB of 2 TiB\n") != std::string::npos);
  const ProgramRun generic = run_program("run " + small + " --set cluster.topology=pcie-8xl40s");
  CHECK(generic.output.find("261 GiB, capacity unknown\n") != std::string::npos);
  const ProgramRun silent = run_program("run " + fsdp2 + " --json -");
  CHECK_FALSE(Json::parse(silent.output)["memory"].contains("host"));
  CHECK(silent.messages.find("host memory") == std::string::npos);
}

TEST_CASE("the optimizer on the CPU is told from the CPU that issues work") {
  const auto parts_of = [](const std::string& arguments) {
    const ProgramRun run = run_program("run " + arguments + " --json - --quiet");
    REQUIRE_MESSAGE(run.status == 0, run.messages);
    std::map<std::string, double> parts;
    const Json result = Json::parse(run.output);
    for (const Json& one : result["critical_path"]) {
      parts[one["what"].get<std::string>()] = one["time_s"].get<double>();
    }
    return parts;
  };
  const std::string scenario = shipped_scenario("fsdp2-llama-2-13b-offload-1xdgx-a100");
  // 1.39 s a billion parameters of the node, and what issuing the step costs.
  CHECK(parts_of(scenario)["optimizer on the CPU"] ==
        doctest::Approx(13.016 * 1.39).epsilon(0.001));
  const auto faster = parts_of(scenario + " --set 'cpu.host_optimizer=139 us'");
  CHECK(faster.at("optimizer on the CPU") == doctest::Approx(1.8092 + 0.0041).epsilon(0.001));
  CHECK_FALSE(
      parts_of(scenario + " --set training.cpu_offload=false").contains("optimizer on the CPU"));
}

TEST_CASE("where neither the GPU's nor the host's memory suffices, both are said") {
  const ProgramRun run =
      run_program("run " + offloaded_405b + "1 --set workload.micro_batch_size=16 --quiet");
  CHECK(run.status == 1);
  CHECK(run.messages.find("out of memory: rank 0") != std::string::npos);
  CHECK(run.messages.find("besides, the 8 ranks of node 0 hold") != std::string::npos);
}

TEST_CASE("CPU offload is the last advice, with the host memory that it takes") {
  const ProgramRun run = run_program("run " + fsdp2 +
                                     " --set workload.model=llama-3-70b --set cluster.nodes=1"
                                     " --set workload.activation_checkpointing=full --json -");
  CHECK(run.status == 1);
  const Json suggestions = Json::parse(run.output)["out_of_memory"]["suggestions"];
  REQUIRE(suggestions.size() > 1);
  CHECK(suggestions.back()["key"] == "training.cpu_offload");
  CHECK(suggestions.back()["host_used_bytes"] > 0);
  CHECK_FALSE(suggestions.front().contains("host_used_bytes"));
  CHECK(run.messages.find("of host memory a node") != std::string::npos);
  // 405 billion parameters do not fit into one node's host memory either.
  const ProgramRun large = run_program("run " + fsdp2 +
                                       " --set workload.model=llama-3-405b --set cluster.nodes=1"
                                       " --set workload.activation_checkpointing=full");
  CHECK(large.status == 1);
  CHECK(large.messages.find("cpu_offload") == std::string::npos);
}

TEST_CASE("a job whose nodes lack host memory for it is named") {
  const ProgramRun run = run_program(
      "run " + fsdp2 +
      " --set 'jobs=[{name: other, nodes: [3], workload: {model: llama-3-405b, sequence_length: "
      "4096, micro_batch_size: 1, activation_checkpointing: full}, training: {strategy: fsdp2, "
      "cpu_offload: true}}]'");
  CHECK(run.status == 1);
  const std::string said = "out of host memory: job 'other': the 8 ranks of node 3 hold 6.46 TiB";
  CHECK_MESSAGE(run.messages.find(said) != std::string::npos, run.messages);
}

TEST_CASE("a point of a sweep whose host memory does not suffice fails, and is never the best") {
  const std::string over = "sweep " + offloaded_405b + "1 --over cluster.nodes=1,8 --quiet ";
  const ProgramRun both = run_program(over + "--json -");
  std::vector<Json> lines;
  std::istringstream text(both.output);
  for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["failed"]["kind"] == "out_of_memory");
  CHECK(lines[0]["failed"]["message"].get<std::string>().starts_with("out of host memory"));
  CHECK(lines[0]["memory"]["fits"] == false);
  CHECK(lines[1]["memory"]["host"]["fits"] == true);
  const ProgramRun best =
      run_program("sweep " + offloaded_405b + "1 --over cluster.nodes=1,8 --best cluster.gpus");
  CHECK(best.status == 0);
  CHECK_MESSAGE(best.output.find("1 ran, 1 out of memory") != std::string::npos, best.output);
  CHECK_MESSAGE(best.output.find("--set cluster.nodes=8") != std::string::npos, best.output);
  const ProgramRun none =
      run_program("sweep " + offloaded_405b + "1 --over cluster.nodes=1 --best cluster.gpus");
  CHECK(none.status == 1);
  CHECK_MESSAGE(none.output.find("No point of 1 has a result") != std::string::npos, none.output);
}

TEST_CASE("where no single change fits, that is said") {
  const ProgramRun run = run_program("run " + shipped_scenario("ddp-gpt2-xl-1xdgx-a100") +
                                     " --set workload.model=llama-3-405b --quiet --json -");
  CHECK(run.status == 1);
  const Json shortage = Json::parse(run.output)["out_of_memory"];
  CHECK(shortage["suggestions"].empty());
  CHECK(shortage["suggestions_tried"] > 0);
  CHECK(run.messages.find("makes it fit") != std::string::npos);
}

/// The result without what depends on the machine and on what was asked for.
Json figures_of(const std::string& arguments) {
  const ProgramRun run = run_program("run " + arguments + " --quiet --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  Json result = Json::parse(run.output);
  result.erase("simulator");
  result.erase("scenario");
  return result;
}

TEST_CASE("after two steps the allocator asks the driver for nothing more") {
  for (const char* name : {"fsdp2-llama-2-7b-4xdgx-h100", "ddp-gpt2-xl-1xdgx-a100"}) {
    CAPTURE(name);
    const std::string dear = " --set 'cpu.device_malloc=50 ms' --set 'cpu.device_free=50 ms'";
    const std::string free = " --set 'cpu.device_malloc=0 us' --set 'cpu.device_free=0 us'";
    const double with = figures_of(shipped_scenario(name) + dear)["step"]["time_s"];
    const double without = figures_of(shipped_scenario(name) + free)["step"]["time_s"];
    CHECK(with == doctest::Approx(without).epsilon(1e-5));
    // The first two steps do: a run that measures them is slower.
    const std::string all = " --set steps.warmup=0 --set steps.measure=3";
    const double first = figures_of(shipped_scenario(name) + all + dear)["step"]["time_s"];
    CHECK(first > 1.5 * with);
  }
}

TEST_CASE("the segments of FSDP1, whose blocks wait for other streams, are there after two steps") {
  if (!has_python()) return;
  const ScratchFolder scratch;
  const std::string file = scratch.file("memory.pickle");
  const ProgramRun run = run_program("run " + shipped_scenario("fsdp1-llama-2-13b-2xdgx-a100") +
                                     " --set steps.measure=3 --quiet --memory-snapshot " + file);
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const std::string early =
      "last = max(e[\"time_us\"] for e in trace if e[\"action\"] == \"segment_alloc\")\n"
      "assert 0 < last < 0.41 * trace[-1][\"time_us\"]\n";
  CHECK(std::system(replay(file, early).c_str()) == 0);
}

TEST_CASE("where memory is tight the step waits for cudaFree, on one rank for all as on all") {
  const std::string tight = fsdp2 + " --set 'allocator.memory_fraction=32 %'";
  const Json one = figures_of(tight);
  CHECK(one.dump() == figures_of(tight + " --exact-ranks").dump());
  const double usual = figures_of(fsdp2)["step"]["time_s"];
  CHECK(one["step"]["time_s"] > 1.05 * usual);
  CHECK(one["warnings"].dump().find("of them in the measured step") != std::string::npos);
}

}  // namespace
}  // namespace shardsim

// `shardsim run` as scripts rely on it: exit statuses, documents, and the same bytes every time.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

const std::string first = shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100");

/// The result without what depends on the machine.
std::string result_of(const std::string& arguments) {
  const ProgramRun run = run_program("run " + arguments + " --quiet --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  Json result = Json::parse(run.output);
  result.erase("simulator");
  return result.dump();
}

TEST_CASE("the same run gives the same result, to the byte") {
  CHECK(result_of(first) == result_of(first));
}

TEST_CASE("one rank standing for all gives the result of all ranks") {
  for (const char* name : {"fsdp2-llama-2-7b-4xdgx-h100", "hsdp-llama-2-7b-4xdgx-h100",
                           "fsdp1-llama-2-13b-2xdgx-a100", "ddp-gpt2-xl-1xdgx-a100"}) {
    CAPTURE(name);
    const std::string file = shipped_scenario(name);
    CHECK(result_of(file) == result_of(file + " --exact-ranks"));
  }
}

TEST_CASE("the result has the schema's keys, in its order") {
  const ProgramRun run = run_program("run " + first + " --json -");
  REQUIRE(run.status == 0);
  const Json result = Json::parse(run.output);
  std::vector<std::string> keys;
  for (const auto& [key, value] : result.items()) keys.push_back(key);
  CHECK(keys == std::vector<std::string>{"schema", "scenario", "cluster", "step", "throughput",
                                         "memory", "collectives", "links", "critical_path",
                                         "warnings", "simulator"});
  CHECK(result["schema"] == "shardsim.result/1");
  CHECK(result["cluster"]["gpus"] == 32);
  CHECK(result["links"].size() == 20);
  const auto& memory = result["memory"];
  std::int64_t parts = 0;
  for (const auto& [key, bytes] : memory["breakdown"].items()) parts += bytes.get<std::int64_t>();
  CHECK(parts == memory["peak_allocated_bytes"].get<std::int64_t>());
  double share = 0;
  for (const auto& part : result["critical_path"]) share += part["share"].get<double>();
  CHECK(share == doctest::Approx(1).epsilon(1e-6));
  // What people read goes to standard error when a document takes standard output.
  CHECK(run.messages.find("step time") != std::string::npos);
}

TEST_CASE("compute, exposed communication and waiting for the CPU make up the step") {
  for (const char* name :
       {"fsdp2-llama-2-7b-4xdgx-h100", "fsdp2-llama-2-7b-slow-network", "textbook-fsdp2",
        "straggler-llama-2-7b-4xdgx-h100", "ddp-gpt2-xl-1xdgx-a100"}) {
    CAPTURE(name);
    const ProgramRun run = run_program("run " + shipped_scenario(name) + " --quiet --json -");
    REQUIRE(run.status == 0);
    const Json step = Json::parse(run.output)["step"];
    const double sum = step["compute_s"].get<double>() +
                       step["exposed_communication_s"].get<double>() +
                       step["cpu_bound_s"].get<double>();
    CHECK(sum == doctest::Approx(step["time_s"].get<double>()).epsilon(1e-6));
  }
}

TEST_CASE("every shipped scenario runs") {
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SHARDSIM_SOURCE_DIR) + "/scenarios")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path().filename().string());
    const ProgramRun run = run_program("run " + entry.path().string());
    CHECK_MESSAGE(run.status == 0, run.messages);
    CHECK(run.output.find("step time") != std::string::npos);
  }
}

TEST_CASE("a step that does not fit ends with status 1 and says what was asked for") {
  const ProgramRun run =
      run_program("run " + first + " --set workload.micro_batch_size=16 --set cluster.nodes=1");
  CHECK(run.status == 1);
  CHECK(run.messages.find("out of memory: rank 0 asked for") != std::string::npos);
  CHECK(run.messages.find("activations") != std::string::npos);
}

TEST_CASE("times beyond the range end with status 1, and never wrap round to a short step") {
  for (const char* change :
       {"cpu.hook='40 h'", "'perturb=[{link: \"leaf[0]\", bandwidth: 0.0000001 %}]'",
        "cpu.host_link='1 B/s' --set training.cpu_offload=true",
        "cpu.host_link='1e-300 B/s' --set training.cpu_offload=true",
        "cpu.host_link='1 B/s' --set training.cpu_offload=true --exact-ranks"}) {
    CAPTURE(change);
    const ProgramRun run = run_program("run " + first + " --quiet --set " + change);
    CHECK(run.status == 1);
    CHECK(run.messages.find("46 days") != std::string::npos);
  }
}

TEST_CASE("times beyond the range end a run of many exact ranks, and say where the ranks are") {
  const std::string many = " --quiet --exact-ranks --set cluster.nodes=16 --set ";
  for (const std::string& run :
       {first + many + "cpu.host_link='1 B/s' --set training.cpu_offload=true",
        first + many + "cpu.host_link='1e-300 B/s' --set training.cpu_offload=true",
        first + many + "cpu.hook='40 h'",
        shipped_scenario("textbook-fsdp2") + many +
            "workload.explicit.optimizer='900 h' --set workload.explicit.copy_out='900 h'",
        shipped_scenario("textbook-fsdp2") + many +
            "workload.explicit.optimizer='900 h' --set 'perturb=[{rank: 3, compute_slowdown: "
            "1000}]'"}) {
    CAPTURE(run);
    const ProgramRun made = run_program("run " + run);
    CHECK(made.status == 1);
    CHECK(made.messages.find("46 days") != std::string::npos);
    CHECK_MESSAGE(made.messages.find("rank 0: the CPU") != std::string::npos, made.messages);
  }
}

TEST_CASE("measured steps that differ are told apart from the one whose parts are shown") {
  const auto warnings = [](const std::string& rest) {
    const ProgramRun made = run_program("run " + first + " --quiet --json - " + rest);
    CHECK(made.status == 0);
    return Json::parse(made.output)["warnings"].dump();
  };
  CHECK(warnings("--set steps.measure=2 --set steps.warmup=0").find("the 2 measured steps take ") !=
        std::string::npos);
  CHECK(warnings("--set steps.measure=2").find("measured steps take") == std::string::npos);
}

TEST_CASE("buckets beyond the GPU's memory do not fit beside explicit times either") {
  const std::string explicit_zero = "run " + shipped_scenario("textbook-zero3") + " --quiet";
  CHECK(run_program(explicit_zero).status == 0);
  const ProgramRun made =
      run_program(explicit_zero + " --set training.zero.reduce_bucket_size=1000000000000000");
  CHECK(made.status == 1);
  CHECK(made.messages.find("out of memory") != std::string::npos);
}

TEST_CASE("a rank that dies is told, at whatever moment of a step it does") {
  const ScratchFolder scratch;
  const std::string run =
      "run " +
      scratch.write(
          "small.yaml",
          "name: small\ncluster: {topology: dgx-h100, nodes: 1}\n"
          "workload: {model: gpt2, sequence_length: 256}\ntraining: {strategy: fsdp2}\n") +
      " --quiet --set ";
  for (const char* moment : {"0 s", "1 ms", "5 ms", "12 ms", "25 ms", "30 ms", "40 ms", "60 ms"}) {
    CAPTURE(moment);
    const ProgramRun made =
        run_program(run + "'perturb=[{rank: 3, dies_at: " + std::string(moment) + "}]'");
    CHECK(made.status == 1);
    CHECK_MESSAGE(made.messages.find("rank 3 died at " + std::string(moment)) != std::string::npos,
                  made.messages);
  }
}

TEST_CASE("a perturbation that the measured steps do not see is warned of") {
  const auto run = [](const std::string& perturbation) {
    const ProgramRun made =
        run_program("run " + first + " --quiet --json - --set 'perturb=[" + perturbation + "]'");
    CHECK(made.status == 0);
    return Json::parse(made.output)["warnings"].dump();
  };
  for (const char* late : {"{rank: 3, dies_at: 1 h}", "{rank: 3, pause: {at: 1 h, length: 1 h}}",
                           "{link: \"node[1].nic[0]\", bandwidth: 50 %, at: 1 h}"}) {
    CHECK(run(late).find("perturb[0] begins at 1 h, after the last step") != std::string::npos);
  }
  CHECK(run("{rank: 3, compute_slowdown: 1.1}, {rank: 3, pause: {at: 0 s, length: 1 s}}")
            .find("perturb[1] is over at 1 s, before the measured steps") != std::string::npos);
  CHECK(run("{rank: 3, pause: {at: 1.2 s, length: 1 s}}").find("perturb[") == std::string::npos);
}

TEST_CASE("GPUs that share NICs unequally are simulated one by one") {
  const std::string file = shipped_scenario("hsdp-llama-2-7b-4xdgx-h100") +
                           " --set cluster.topology=aws-p4d --set cluster.nodes=2"
                           " --set workload.model=gpt2 --set workload.sequence_length=512"
                           " --set training.shard_group=2";
  CHECK(result_of(file) == result_of(file + " --exact-ranks"));
}

TEST_CASE("a NIC that dies on the way ends with status 1 and a report of who waits") {
  const ProgramRun run = run_program(
      "run " + first + " --set 'perturb=[{link: \"node[2].nic[0]\", bandwidth: 0 %, at: 10 ms}]'");
  CHECK(run.status == 1);
  CHECK(run.messages.find("no route: a collective needs 'node[2].nic[0]'") != std::string::npos);
  CHECK(run.messages.find("where all its peers are") != std::string::npos);
}

TEST_CASE("a NIC that is down when the run begins is not chosen, whenever it comes back") {
  const auto run = [](const std::string& file, const std::string& rest) {
    return result_of(file + " --set 'perturb=[{link: \"node[2].nic[0]\", bandwidth: 0 %" + rest +
                     "}]'");
  };
  const auto time = [](const std::string& result) {
    return Json::parse(result)["step"]["time_s"].get<double>();
  };
  for (const char* name : {"fsdp2-llama-2-7b-4xdgx-h100", "hsdp-llama-2-7b-4xdgx-h100"}) {
    CAPTURE(name);
    const std::string file = shipped_scenario(name);
    const double down = time(run(file, ""));
    CHECK(down >= time(result_of(file)));
    CHECK(time(run(file, ", until: 50 ms")) == down);
    CHECK(time(run(file + " --exact-ranks", "")) == doctest::Approx(down).epsilon(1e-9));
  }
}

TEST_CASE("the trace is JSON with a blank after \"rank\":, steps, kernels and paired arrows") {
  const ScratchFolder scratch;
  const ProgramRun run = run_program("run " + first + " --quiet --trace " +
                                     scratch.file("trace.json") + " --trace-ranks 0,9");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  for (const int rank : {0, 9}) {
    const std::string text = read_text(scratch.file("trace.rank" + std::to_string(rank) + ".json"));
    CHECK(text.find("\"rank\": " + std::to_string(rank)) != std::string::npos);
    const Json trace = Json::parse(text);
    int steps = 0;
    int collectives = 0;
    int starts = 0;
    int finishes = 0;
    for (const Json& event : trace["traceEvents"]) {
      const std::string phase = event["ph"];
      if (phase == "s") ++starts;
      if (phase == "f") ++finishes;
      if (phase != "X") continue;
      const std::string name = event["name"];
      if (name == "ProfilerStep#2") ++steps;
      if (name.starts_with("ncclDevKernel_")) {
        ++collectives;
        CHECK(event["args"]["Group size"] == 32);
      }
    }
    CHECK(steps == 1);
    CHECK(collectives == 98);
    CHECK(starts == finishes);
    CHECK(starts > 1000);
  }
}

}  // namespace
}  // namespace shardsim

// Memory as a result: over time, and when it does not suffice.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

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
  CHECK(run.messages.find("at loss.backward: loss.workspace (activations)") != std::string::npos);
}

}  // namespace
}  // namespace shardsim

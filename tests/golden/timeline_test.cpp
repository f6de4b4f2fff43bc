// The schedules of tests/golden/fsdp, through the program's front door.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::json;

double microseconds(const Json& seconds) { return std::round(seconds.get<double>() * 1e12) * 1e-6; }

TEST_CASE("--timeline of a prescribed workload is the golden schedule, event for event") {
  const Json golden = Json::parse(
      read_text(std::string(SHARDSIM_SOURCE_DIR) + "/tests/golden/fsdp/timelines.json"));
  REQUIRE(golden["timelines"].size() == 18);
  const ScratchFolder scratch;
  for (const Json& expected : golden["timelines"]) {
    const std::string name =
        expected["workload"].get<std::string>() + "/" + expected["name"].get<std::string>();
    CAPTURE(name);
    const int iteration = expected["iteration"].get<int>();
    const std::string scenario = scratch.write(
        "scenario.yaml",
        "name: golden\ncluster: {topology: dgx-h100, nodes: 2}\nworkload:\n  explicit: " +
            golden["workloads"][expected["workload"].get<std::string>()].get<std::string>() +
            "\ntraining: " + expected["training"].get<std::string>() +
            "\nsteps: {warmup: " + std::to_string(iteration - 1) + ", measure: 1}\n");
    const ProgramRun run = run_program("run " + scenario + " --quiet --timeline -");
    REQUIRE_MESSAGE(run.status == 0, run.messages);
    const Json timeline = Json::parse(run.output);
    const Json& operations = expected["operations"];
    REQUIRE(timeline.size() == operations.size());
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const Json& want = operations[i];
      const Json& got = timeline[i];
      CAPTURE(i);
      CHECK(got["rank"] == 0);
      // [name, stream, communicator, start, end, CPU issue]
      CHECK(got["name"] == want[0]);
      CHECK(got["stream"] == want[1]);
      CHECK((got["communicator"].is_null() ? Json("") : got["communicator"]) == want[2]);
      CHECK(microseconds(got["start_s"]) == want[3].get<double>());
      CHECK(microseconds(got["end_s"]) == want[4].get<double>());
      CHECK(microseconds(got["cpu_issue_s"]) == want[5].get<double>());
    }
  }
}

TEST_CASE("time of communication counts once what two communicators do at the same time") {
  const ScratchFolder scratch;
  const std::string result = scratch.file("result.json");
  for (const std::string& scenario : {shipped_scenario("textbook-fsdp2-slow-network") +
                                          " --set training.separate_reduce_scatter_group=true",
                                      shipped_scenario("hsdp-llama-2-7b-4xdgx-h100")}) {
    CAPTURE(scenario);
    const ProgramRun run =
        run_program("run " + scenario + " --quiet --timeline - --json " + result);
    REQUIRE_MESSAGE(run.status == 0, run.messages);
    std::vector<std::pair<double, double>> intervals;
    for (const Json& one : Json::parse(run.output)) {
      if (one["communicator"].is_null()) continue;
      intervals.emplace_back(one["start_s"].get<double>(), one["end_s"].get<double>());
    }
    std::ranges::sort(intervals);
    double busy = 0;
    double sum = 0;
    double covered = 0;
    for (const auto& [start, end] : intervals) {
      sum += end - start;
      busy += std::max(0.0, end - std::max(start, covered));
      covered = std::max(covered, end);
    }
    const double told = Json::parse(read_text(result))["step"]["communication_s"].get<double>();
    CHECK(told == doctest::Approx(busy).epsilon(1e-9));
    CHECK(sum > 1.1 * busy);  // they do overlap
  }
}

}  // namespace
}  // namespace shardsim

// What fabrics are known to do to a training step: sign and rough size, scenario against scenario.
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

struct Effect {
  double step_s = 0;
  double exposed_s = 0;
  double all_gather_gbytes = 0;
};

Effect run_scenario(const std::string& name, const std::string& more = {}) {
  const ProgramRun run = run_program("run " + shipped_scenario(name) + " --quiet --json - " + more);
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const auto result = nlohmann::json::parse(run.output);
  Effect effect{result["step"]["time_s"], result["step"]["exposed_communication_s"], 0};
  for (const auto& collective : result["collectives"]) {
    if (collective["kind"] == "all_gather") {
      effect.all_gather_gbytes = collective["busbw_gbytes_per_s"];
    }
  }
  return effect;
}

TEST_CASE("hash collisions slow the rings of a fat-tree; spraying and rails have none") {
  const Effect hashed = run_scenario("fabric-ecmp-collisions");
  const Effect sprayed = run_scenario("fabric-packet-spraying");
  const Effect rails = run_scenario("fabric-rail-optimised");
  CHECK(hashed.all_gather_gbytes < 0.8 * sprayed.all_gather_gbytes);
  CHECK(hashed.all_gather_gbytes > 0.25 * sprayed.all_gather_gbytes);
  CHECK(hashed.exposed_s > sprayed.exposed_s);
  CHECK(hashed.step_s > sprayed.step_s);
  // Spraying over a full tree is as good as rails but for the latency of two more switches.
  CHECK(sprayed.all_gather_gbytes == doctest::Approx(rails.all_gather_gbytes).epsilon(0.01));
  CHECK(sprayed.step_s >= rails.step_s);
}

TEST_CASE("oversubscription divides what rings get that cross every leaf") {
  const Effect full =
      run_scenario("fabric-oversubscribed-2to1", "--set cluster.topology=h100-fat-tree-3-level");
  const Effect half = run_scenario("fabric-oversubscribed-2to1");
  const Effect quarter = run_scenario("fabric-oversubscribed-4to1");
  // Large collectives come near the ratio of bandwidths; their latency keeps them above it.
  CHECK(half.all_gather_gbytes < 0.65 * full.all_gather_gbytes);
  CHECK(half.all_gather_gbytes > 0.5 * full.all_gather_gbytes);
  CHECK(quarter.all_gather_gbytes < 0.6 * half.all_gather_gbytes);
  CHECK(quarter.all_gather_gbytes > 0.5 * half.all_gather_gbytes);
  CHECK(full.step_s < half.step_s);
  CHECK(half.step_s < quarter.step_s);
}

TEST_CASE("one NIC at half its rate halves every ring") {
  const Effect sound = run_scenario("fabric-rail-optimised");
  const Effect sick = run_scenario("fabric-half-rate-nic");
  CHECK(sick.all_gather_gbytes < 0.7 * sound.all_gather_gbytes);
  CHECK(sick.all_gather_gbytes > 0.45 * sound.all_gather_gbytes);
  CHECK(sick.step_s > sound.step_s);
}

TEST_CASE("the table of docs/fabrics.md says what the scenarios give") {
  std::ifstream in(std::string(SHARDSIM_SOURCE_DIR) + "/docs/fabrics.md");
  int rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("| `fabric-")) continue;
    const std::size_t end = line.find('`', 3);
    const std::string name = line.substr(3, end - 3);
    std::istringstream cells(line.substr(line.find('|', end)));
    char bar = 0;
    double gbytes = 0;
    double step_s = 0;
    cells >> bar >> gbytes >> bar >> step_s;
    REQUIRE(!cells.fail());
    CAPTURE(name);
    const Effect effect = run_scenario(name);
    CHECK(std::abs(effect.all_gather_gbytes - gbytes) <= 0.6);
    CHECK(std::abs(effect.step_s - step_s) <= 0.0006);
    ++rows;
  }
  CHECK(rows == 6);
}

}  // namespace
}  // namespace shardsim

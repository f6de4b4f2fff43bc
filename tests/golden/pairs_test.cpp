// scenarios/pairs: two runs that differ in one setting, and what it is for.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::json;

struct Effect {
  double time = 0;     ///< s
  double exposed = 0;  ///< s
  double allocated = 0;
  double reserved = 0;
  bool tight = false;  ///< the allocator had to give memory back
  double reductions = 0;
  double gathers = 0;
};

Effect effect_of(const std::string& name) {
  const ProgramRun run = run_program("run " + shipped_scenario("pairs/" + name) + " --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const Json result = Json::parse(run.output);
  Effect effect;
  effect.time = result["step"]["time_s"];
  effect.exposed = result["step"]["exposed_communication_s"];
  effect.allocated = result["memory"]["peak_allocated_bytes"];
  effect.reserved = result["memory"]["peak_reserved_bytes"];
  for (const Json& warning : result["warnings"]) {
    if (warning.get<std::string>().starts_with("memory is tight")) effect.tight = true;
  }
  for (const Json& one : result["collectives"]) {
    const double count = one["count"];
    (one["kind"] == "all_gather" ? effect.gathers : effect.reductions) += count;
  }
  return effect;
}

TEST_CASE("the rate limiter keeps a crowded device from giving memory back, and saves time") {
  const Effect on = effect_of("limiter-on");
  const Effect off = effect_of("limiter-off");
  CHECK_FALSE(on.tight);
  CHECK(off.tight);
  CHECK(on.reserved < 0.8 * off.reserved);
  CHECK(on.allocated == off.allocated);
  CHECK(on.time < off.time);
}

TEST_CASE("backward prefetch hides gathers for a gathered unit more") {
  const Effect on = effect_of("prefetch-on");
  const Effect off = effect_of("prefetch-off");
  CHECK(on.time < 0.9 * off.time);
  CHECK(on.exposed < off.exposed);
  CHECK(on.allocated > off.allocated);
  CHECK(on.gathers == off.gathers);
}

TEST_CASE("resharding after forward pays a third of the traffic for memory") {
  const Effect on = effect_of("reshard-on");
  const Effect off = effect_of("reshard-off");
  CHECK(on.gathers == 2 * off.gathers - 1);  // the root is gathered once
  CHECK(on.time > off.time);
  CHECK(on.allocated < 0.5 * off.allocated);
}

TEST_CASE("over a slow network hybrid sharding is faster and takes more memory") {
  const Effect full = effect_of("slow-network-full");
  const Effect hybrid = effect_of("slow-network-hybrid");
  CHECK(hybrid.time < full.time);
  CHECK(hybrid.exposed < full.exposed);
  CHECK(hybrid.allocated > 2 * full.allocated);
}

TEST_CASE("reducing in the last micro-batch alone saves time and keeps whole gradients") {
  const Effect every = effect_of("accumulation-every");
  const Effect last = effect_of("accumulation-last");
  CHECK(every.reductions == 4 * last.reductions);
  CHECK(last.time < every.time);
  CHECK(last.allocated > 2 * every.allocated);
}

}  // namespace
}  // namespace shardsim

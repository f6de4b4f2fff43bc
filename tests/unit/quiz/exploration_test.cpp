// The sliders of the page: every position is a scenario that can be read, and changes something.
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "quiz/publish/quiz_data.hpp"
#include "tests/unit/quiz/quiz_fixture.hpp"

namespace shardsim::quiz {
namespace {

RunSpec at_start() { return {shipped_bank().spec.explore.scenario, {}, ProgramChange::none}; }

TEST_CASE("where the sliders stand at first is the quiz's main run") {
  RunSpec spec = at_start();
  for (const SliderSpec& slider : shipped_bank().spec.explore.sliders) {
    const SliderStep& step = slider.steps[static_cast<std::size_t>(slider.start)];
    CHECK_FALSE(step.scenario.has_value());
    spec.set.insert(spec.set.end(), step.set.begin(), step.set.end());
  }
  const auto moved = try_out(spec, shipped_data());
  const auto main = shared_runs().get(at_start());
  REQUIRE(moved);
  REQUIRE(main);
  CHECK(moved->facts == (*main)->facts);
}

TEST_CASE(
    "every other position of a slider can be run, or is out of memory, and changes the step") {
  const Facts& start = (*shared_runs().get(at_start()))->facts;
  for (const SliderSpec& slider : shipped_bank().spec.explore.sliders) {
    for (std::int64_t i = 0; i < std::ssize(slider.steps); ++i) {
      if (i == slider.start) continue;
      const SliderStep& step = slider.steps[static_cast<std::size_t>(i)];
      CAPTURE(slider.id);
      CAPTURE(step.name);
      RunSpec spec = at_start();
      if (step.scenario) spec.scenario = *step.scenario;
      spec.set = step.set;
      const auto run = try_out(spec, shipped_data());
      if (run) {
        CHECK(run->facts != start);
      } else {
        CAPTURE(run.error().message);
        CHECK(run.error().kind == scenario::FailureKind::out_of_memory);
        CHECK(run.error().result.has_value());
      }
    }
  }
}

TEST_CASE("the data of a run hold what is asked for, and a verdict its numbers") {
  const auto run = shared_runs().get(at_start());
  REQUIRE(run);
  const auto bare = run_data(**run, "scenarios", {});
  CHECK_FALSE(bare.contains("streams"));
  CHECK_FALSE(bare.contains("memory_ns"));
  CHECK(bare["events"].get<std::uint64_t>() > 1000);
  CHECK(bare["command"] == "shardsim run quiz/fsdp");
  const auto full = run_data(**run, "scenarios", {.memory = true, .streams = true});
  CHECK(full["streams"]["step_ns"] == full["step_ns"]);
  CHECK(full["memory_ns"].size() > 50);
  double exposed = 0;
  const auto& gaps = full["streams"]["gaps"];
  for (std::size_t i = 0; i < gaps["why"].size(); ++i) {
    if (gaps["why"][i] == "cpu") continue;
    exposed += gaps["end_ns"][i].get<double>() - gaps["start_ns"][i].get<double>();
  }
  CHECK(exposed * 1e-9 == doctest::Approx((*run)->facts.find("exposed")->second.value));

  const Question& question = *shipped_bank().find("q1");
  const auto runs = shared_runs().all(question.spec);
  REQUIRE(runs);
  const RunFacts facts = facts_of(*runs);
  const auto verdict =
      verdict_data(shipped_bank(), *judge(question, facts), *values_of(question, facts));
  CHECK(verdict["solved"] == "state");
  CHECK(verdict["options"].size() == 4);
  CHECK(verdict["values"]["ddp_state"]["text"]["ms"] == "59.83 GiB");
}

}  // namespace
}  // namespace shardsim::quiz

// `--report`: one file that needs nothing else, or, in a build without the viewer, a clear refusal.
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

/// The page's data; null, after a check of the message, where this build has no viewer.
Json data_of(const ProgramRun& run) {
  if (run.status != 0) {
    CHECK(run.status == 2);
    CHECK(run.messages.find("this build has no viewer") != std::string::npos);
    return nullptr;
  }
  const std::string& page = run.output;
  CHECK(page.rfind("<!DOCTYPE html>", 0) == 0);
  CHECK(page.find("default-src 'none'") != std::string::npos);
  for (const char* outside : {"src=", "href=", "@import", "url("}) {
    CAPTURE(outside);
    CHECK(page.substr(0, page.find("<script>")).find(outside) == std::string::npos);
  }
  const std::string place = "<script type=\"application/json\" id=\"data\">";
  const std::size_t begin = page.find(place) + place.size();
  return Json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST_CASE("the report of a run holds its result and the command that repeats it") {
  const std::string scenario = shipped_scenario("textbook-fsdp2");
  const ProgramRun json = run_program("run " + scenario + " --quiet --json -");
  REQUIRE(json.status == 0);
  const Json data = data_of(run_program("run " + scenario + " --set 'name=a b' --report -"));
  if (data.is_null()) return;
  CHECK(data["schema"] == "shardsim.run_report/1");
  CHECK(data["result"]["step"] == Json::parse(json.output)["step"]);
  CHECK(data["command"] == "shardsim run " + scenario + " --set 'name=a b'");
  CHECK(data["configuration"]["overrides"] == Json({"name=a b"}));
}

TEST_CASE("the report of a sweep holds every point, those that failed with their reason") {
  const Json data =
      data_of(run_program("sweep " + shipped_scenario("fsdp2-llama-2-7b-4xdgx-h100") +
                          " --over workload.micro_batch_size=1,64 --quiet --report -"));
  if (data.is_null()) return;
  CHECK(data["keys"][0] == Json{{"name", "workload.micro_batch_size"}, {"values", {1, 64}}});
  CHECK(data["metrics"]["gpus"][0] == 32);
  CHECK(data["failed"][0].is_null());
  CHECK(data["failed"][1]["kind"] == "out_of_memory");
}

TEST_CASE("parts of a sweep, merged, have the report of the whole") {
  const ScratchFolder scratch;
  const std::string sweep =
      "sweep " + shipped_scenario("textbook-fsdp2") + " --over steps.warmup=1..6 --quiet ";
  const std::string one = scratch.file("1.jsonl");
  const std::string two = scratch.file("2.jsonl");
  REQUIRE(run_program(sweep + "--shard 1/2 --json " + one).status == 0);
  REQUIRE(run_program(sweep + "--shard 2/2 --json " + two).status == 0);
  const Json merged = data_of(run_program("merge " + one + " " + two + " --quiet --report -"));
  const Json whole = data_of(run_program(sweep + "--report -"));
  if (merged.is_null() || whole.is_null()) return;
  for (const char* part : {"name", "keys", "metrics", "failed"}) {
    CAPTURE(part);
    CHECK(merged[part] == whole[part]);
  }
}

TEST_CASE("a report does not go where something else goes") {
  const ScratchFolder scratch;
  const std::string file = scratch.file("x.html");
  const std::string scenario = shipped_scenario("textbook-fsdp2");
  const ProgramRun run = run_program("run " + scenario + " --json " + file + " --report " + file);
  CHECK(run.status == 2);
  CHECK(run.messages.find("expected different files") != std::string::npos);
  const ProgramRun sweep = run_program("sweep " + scenario + " --over steps.warmup=1,2 --json " +
                                       file + " --report " + file);
  CHECK(sweep.status == 2);
}

}  // namespace
}  // namespace shardsim

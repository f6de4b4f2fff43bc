// The columns of a sweep's report.
#include "report/sweep_report.hpp"

#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace shardsim::report {
namespace {

using Json = nlohmann::ordered_json;

Json point(int index, Json values) {
  return {{"index", index}, {"of", 3}, {"values", std::move(values)}};
}

/// A result with what the report reads.
Json result(int index, Json values, double step, double exposed) {
  Json line{{"schema", "shardsim.sweep/1"}, {"point", point(index, std::move(values))}};
  line["cluster"] = {{"gpus", 8 << index}, {"nodes", 1 << index}};
  line["step"] = {{"time_s", step}, {"exposed_communication_s", exposed}};
  line["throughput"] = {{"tokens_per_s", nullptr}};
  line["memory"] = {{"peak_reserved_bytes", 1000}, {"outside_allocator_bytes", 24}};
  return line;
}

Json data_of(const std::vector<Json>& lines) {
  SweepReport report({"name", "command", "file", "text"});
  for (const Json& line : lines) report.add(line);
  return report.data();
}

TEST_CASE("a sweep becomes columns, a row a point") {
  const Json data = data_of({result(0, {{"cluster.nodes", 1}}, 2.0, 0.5),
                             result(1, {{"cluster.nodes", 2}, {"x", {1, 2}}}, 4.0, 3.0)});
  CHECK(data["keys"][0] == Json{{"name", "cluster.nodes"}, {"values", {1, 2}}});
  CHECK(data["keys"][1]["values"] == Json({nullptr, "[1,2]"}));
  CHECK(data["metrics"]["gpus"] == Json({8, 16}));
  CHECK(data["metrics"]["exposed_share"] == Json({0.25, 0.75}));
  CHECK(data["metrics"]["memory_used_bytes"] == Json({1024.0, 1024.0}));
  CHECK(data["metrics"]["tokens_per_s"] == Json({nullptr, nullptr}));
  CHECK(data["failed"] == Json({nullptr, nullptr}));
}

TEST_CASE("a point that failed keeps its reason and has no figures") {
  Json line = result(0, {{"a", "</script>"}}, 1.0, 0.5);
  line["failed"] = {{"kind", "out_of_memory"}, {"message", "rank 0"}};
  const Json data = data_of({line});
  CHECK(data["failed"][0] == Json{{"kind", "out_of_memory"}, {"message", "rank 0"}});
  CHECK(data["metrics"]["step_time_s"][0].is_null());
  CHECK(data["metrics"]["exposed_share"][0].is_null());
}

TEST_CASE("a sweep without points is empty columns") {
  const Json data = data_of({});
  CHECK(data["keys"].empty());
  CHECK(data["metrics"]["gpus"].empty());
}

TEST_CASE("a measured point that stands in many lines is one point") {
  Json line = result(0, {{"x", 1}}, 1.0, 0.5);
  line["measured"] = {{{"gpus", 16}, {"tokens_per_s_per_gpu", 1200.0}, {"source", "who 2024"}},
                      {{"gpus", 16}, {"tokens_per_s_per_gpu", "?"}}};
  const Json data = data_of({line, line});
  REQUIRE(data["measured"].size() == 1);
  CHECK(data["measured"][0]["source"] == "who 2024");
}

}  // namespace
}  // namespace shardsim::report

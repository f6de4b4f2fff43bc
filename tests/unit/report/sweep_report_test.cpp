// The columns of a sweep's report.
#include "report/sweep_report.hpp"

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

TEST_CASE("a sweep becomes columns, a row a point") {
  const std::vector<Json> points{result(0, {{"cluster.nodes", 1}}, 2.0, 0.5),
                                 result(1, {{"cluster.nodes", 2}, {"x", {1, 2}}}, 4.0, 3.0)};
  const Json data = sweep_report_data({"name", "command", "file", "text", points, {}});
  CHECK(data["keys"][0] == Json{{"name", "cluster.nodes"}, {"values", {1, 2}}});
  CHECK(data["keys"][1]["values"] == Json({nullptr, "[1,2]"}));
  CHECK(data["metrics"]["gpus"] == Json({8, 16}));
  CHECK(data["metrics"]["exposed_share"] == Json({0.25, 0.75}));
  CHECK(data["metrics"]["memory_used_bytes"] == Json({1024.0, 1024.0}));
  CHECK(data["metrics"]["tokens_per_s"] == Json({nullptr, nullptr}));
  CHECK(data["failed"] == Json({nullptr, nullptr}));
}

TEST_CASE("a point that failed keeps its reason and has no figures") {
  const std::vector<Json> points{{{"point", point(0, {{"a", "</script>"}})},
                                  {"failed", {{"kind", "out_of_memory"}, {"message", "rank 0"}}}}};
  const Json data = sweep_report_data({"name", "command", "file", "text", points, {}});
  CHECK(data["failed"][0]["kind"] == "out_of_memory");
  CHECK(data["metrics"]["step_time_s"][0].is_null());
  CHECK(data["metrics"]["exposed_share"][0].is_null());
}

TEST_CASE("a sweep without points is empty columns") {
  const Json data = sweep_report_data({"name", "command", "file", "text", {}, {}});
  CHECK(data["keys"].empty());
  CHECK(data["metrics"]["gpus"].empty());
}

TEST_CASE("measured points keep their source") {
  const Json data =
      sweep_report_data({"name", "command", "file", "text", {}, {{16, 1200, "who 2024"}}});
  CHECK(data["measured"][0] ==
        Json{{"gpus", 16.0}, {"tokens_per_s_per_gpu", 1200.0}, {"source", "who 2024"}});
}

}  // namespace
}  // namespace shardsim::report

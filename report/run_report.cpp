#include "report/run_report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "models/scenario/result.hpp"
#include "models/scenario/summary.hpp"
#include "report/page.hpp"
#include "report/stream_timeline.hpp"
#include "report/topology_picture.hpp"

namespace shardsim::report {

namespace {

using Json = nlohmann::ordered_json;

Json memory_columns(const std::vector<scenario::MemoryPoint>& points) {
  Json columns;
  for (const char* key : {"time_s", "allocated_bytes", "reserved_bytes"}) {
    columns[key] = Json::array();
  }
  Json& kinds = columns["kinds"] = Json::object();
  for (int kind = 0; kind < cuda::memory_kind_count; ++kind) {
    kinds[scenario::memory_kind_name(static_cast<cuda::MemoryKind>(kind))] = Json::array();
  }
  for (const scenario::MemoryPoint& point : points) {
    columns["time_s"].push_back(point.device_time.seconds());
    columns["allocated_bytes"].push_back(point.allocated.count);
    columns["reserved_bytes"].push_back(point.reserved.count);
    for (int kind = 0; kind < cuda::memory_kind_count; ++kind) {
      kinds[scenario::memory_kind_name(static_cast<cuda::MemoryKind>(kind))].push_back(
          point.by_kind[static_cast<std::size_t>(kind)].count);
    }
  }
  return columns;
}

Json configuration(const scenario::LoadedScenario& scenario) {
  const auto& source = scenario.root.where().source;
  return {{"file", scenario.file.string()},
          {"text", source ? source->text : std::string()},
          {"overrides", scenario.overrides}};
}

const scenario::StepLog& log_of(const scenario::RunOutput& output) {
  const auto found = std::ranges::find(output.logs, output.result.rank, &scenario::StepLog::rank);
  return found == output.logs.end() ? output.logs.front() : *found;
}

}  // namespace

nlohmann::ordered_json run_report_data(const RunReport& report) {
  const scenario::Result& result = report.output.result;
  Json data{{"schema", "shardsim.run_report/1"}, {"command", report.command}};
  data["configuration"] = configuration(report.experiment.scenario);
  data["result"] = Json::parse(scenario::to_json(result));
  data["result"]["memory"].erase("timeline");
  data["memory_timeline"] = memory_columns(result.memory.timeline.points);
  data["streams"] = stream_timeline(log_of(report.output));
  data["topology"] = topology_picture(report.experiment.graph, report.loads);
  return data;
}

std::expected<std::string, std::string> run_report_page(const RunReport& report) {
  if (!has_pages()) return std::unexpected(no_pages_message());
  return fill_page(Page::run_report, scenario::title_of(report.output.result),
                   run_report_data(report));
}

}  // namespace shardsim::report

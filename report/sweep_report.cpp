#include "report/sweep_report.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/page.hpp"

namespace shardsim::report {

namespace {

using Json = nlohmann::ordered_json;

/// The column and where its value stands in a result.
constexpr auto plain_metrics = std::to_array<std::pair<const char*, const char*>>(
    {{"gpus", "/cluster/gpus"},
     {"nodes", "/cluster/nodes"},
     {"step_time_s", "/step/time_s"},
     {"compute_s", "/step/compute_s"},
     {"communication_s", "/step/communication_s"},
     {"exposed_communication_s", "/step/exposed_communication_s"},
     {"overlap_fraction", "/step/overlap_fraction"},
     {"cpu_bound_s", "/step/cpu_bound_s"},
     {"tokens_per_s", "/throughput/tokens_per_s"},
     {"tokens_per_s_per_gpu", "/throughput/tokens_per_s_per_gpu"},
     {"mfu", "/throughput/mfu"},
     {"capacity_bytes", "/memory/capacity_bytes"}});

/// Null where there is no number at `place`.
Json number_at(const Json& result, const std::string& place) {
  const Json::json_pointer pointer(place);
  if (!result.contains(pointer)) return nullptr;
  const Json& found = result.at(pointer);
  return found.is_number() ? found : Json(nullptr);
}

/// What the GPU holds at the peak: the allocator's segments and what lies outside it.
Json memory_used(const Json& result) {
  const Json reserved = number_at(result, "/memory/peak_reserved_bytes");
  if (reserved.is_null()) return nullptr;
  const Json outside = number_at(result, "/memory/outside_allocator_bytes");
  return reserved.get<double>() + (outside.is_null() ? 0 : outside.get<double>());
}

Json exposed_share(const Json& result) {
  const Json exposed = number_at(result, "/step/exposed_communication_s");
  const Json step = number_at(result, "/step/time_s");
  if (exposed.is_null() || step.is_null() || step.get<double>() <= 0) return nullptr;
  return exposed.get<double>() / step.get<double>();
}

Json failure_of(const Json& line) {
  const auto failed = line.find("failed");
  if (failed == line.end() || !failed->is_object()) return nullptr;
  return {{"kind", failed->value("kind", "")}, {"message", failed->value("message", "")}};
}

/// Keys in the order in which they first appear.
std::vector<std::string> swept_keys(const std::vector<Json>& points) {
  std::vector<std::string> keys;
  for (const Json& line : points) {
    const Json::json_pointer place("/point/values");
    if (!line.contains(place)) continue;
    for (const auto& [key, value] : line.at(place).items()) {
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

Json key_column(const std::vector<Json>& points, const std::string& key) {
  Json values = Json::array();
  for (const Json& line : points) {
    const Json::json_pointer place("/point/values");
    Json value = nullptr;
    if (line.contains(place) && line.at(place).contains(key)) value = line.at(place).at(key);
    values.push_back(value.is_structured() ? Json(value.dump()) : value);
  }
  return {{"name", key}, {"values", std::move(values)}};
}

}  // namespace

nlohmann::ordered_json sweep_report_data(const SweepReport& report) {
  Json data{{"schema", "shardsim.sweep_report/1"},
            {"name", report.name},
            {"command", report.command},
            {"configuration", {{"file", report.file}, {"text", report.text}}}};
  data["keys"] = Json::array();
  for (const std::string& key : swept_keys(report.points)) {
    data["keys"].push_back(key_column(report.points, key));
  }
  Json& metrics = data["metrics"] = Json::object();
  for (const auto& [name, place] : plain_metrics) metrics[name] = Json::array();
  metrics["exposed_share"] = Json::array();
  metrics["memory_used_bytes"] = Json::array();
  data["failed"] = Json::array();
  for (const Json& line : report.points) {
    const Json failure = failure_of(line);
    const Json empty = Json::object();
    const Json& result = failure.is_null() ? line : empty;
    for (const auto& [name, place] : plain_metrics) {
      metrics[name].push_back(number_at(result, place));
    }
    metrics["exposed_share"].push_back(exposed_share(result));
    metrics["memory_used_bytes"].push_back(memory_used(result));
    data["failed"].push_back(failure);
  }
  data["measured"] = Json::array();
  for (const MeasuredPoint& point : report.measured) {
    data["measured"].push_back({{"gpus", point.gpus},
                                {"tokens_per_s_per_gpu", point.tokens_per_s_per_gpu},
                                {"source", point.source}});
  }
  return data;
}

std::expected<std::string, std::string> sweep_report_page(const SweepReport& report) {
  if (!has_pages()) return std::unexpected(no_pages_message());
  return fill_page(Page::sweep_report, report.name, sweep_report_data(report));
}

}  // namespace shardsim::report

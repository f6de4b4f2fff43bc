#include "report/sweep_report.hpp"

#include <algorithm>
#include <array>
#include <utility>

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

}  // namespace

SweepReport::SweepReport(SweepOrigin origin) : origin_(std::move(origin)) {
  for (const auto& [name, place] : plain_metrics) metrics_[name] = Json::array();
  metrics_["exposed_share"] = Json::array();
  metrics_["memory_used_bytes"] = Json::array();
}

void SweepReport::add(const Json& line) {
  const Json failure = failure_of(line);
  add_values(line);
  add_metrics(failure.is_null() ? line : Json::object());
  add_measured(line);
  failed_.push_back(failure);
  ++points_;
}

void SweepReport::add_values(const Json& line) {
  const Json::json_pointer place("/point/values");
  const Json values = line.contains(place) ? line.at(place) : Json::object();
  for (const auto& [key, value] : values.items()) {
    if (std::ranges::find(keys_, key) != keys_.end()) continue;
    keys_.push_back(key);
    values_.push_back(Json::array());
    for (std::size_t i = 0; i < points_; ++i) values_.back().push_back(nullptr);
  }
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const auto value = values.find(keys_[i]);
    const bool given = value != values.end();
    values_[i].push_back(!given                   ? Json(nullptr)
                         : value->is_structured() ? Json(value->dump())
                                                  : *value);
  }
}

void SweepReport::add_metrics(const Json& result) {
  for (const auto& [name, place] : plain_metrics) {
    metrics_[name].push_back(number_at(result, place));
  }
  metrics_["exposed_share"].push_back(exposed_share(result));
  metrics_["memory_used_bytes"].push_back(memory_used(result));
}

void SweepReport::add_measured(const Json& line) {
  const auto points = line.find("measured");
  if (points == line.end() || !points->is_array()) return;
  for (const Json& point : *points) {
    const Json gpus = number_at(point, "/gpus");
    const Json speed = number_at(point, "/tokens_per_s_per_gpu");
    if (gpus.is_null() || speed.is_null() || !measured_seen_.insert(point.dump()).second) continue;
    measured_.push_back(
        {{"gpus", gpus}, {"tokens_per_s_per_gpu", speed}, {"source", point.value("source", "")}});
  }
}

nlohmann::ordered_json SweepReport::data() const {
  Json data{{"schema", "shardsim.sweep_report/1"},
            {"name", origin_.name},
            {"command", origin_.command},
            {"configuration", {{"file", origin_.file}, {"text", origin_.text}}}};
  data["keys"] = Json::array();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    data["keys"].push_back({{"name", keys_[i]}, {"values", values_[i]}});
  }
  data["metrics"] = metrics_;
  data["failed"] = failed_;
  data["measured"] = measured_;
  return data;
}

std::expected<std::string, std::string> SweepReport::page() const {
  if (!has_pages()) return std::unexpected(no_pages_message());
  return fill_page(Page::sweep_report, origin_.name, data());
}

}  // namespace shardsim::report

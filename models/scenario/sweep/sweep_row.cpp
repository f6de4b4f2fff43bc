#include "models/scenario/sweep/sweep_row.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "models/scenario/sweep/sweep_plan.hpp"
#include "models/scenario/sweep/sweep_point.hpp"
#include "simcore/json_limits.hpp"
#include "simcore/output/json_text.hpp"

namespace shardsim::scenario {

using Json = nlohmann::ordered_json;

namespace {

const Json* child(const Json& json, std::string_view key) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

std::string text_at(const Json& json, std::string_view section, std::string_view key) {
  const Json* inner = child(json, section);
  if (inner != nullptr) inner = child(*inner, key);
  return inner != nullptr && inner->is_string() ? inner->get<std::string>() : std::string();
}

std::optional<double> number_of(const Json& json, const Metric& metric) {
  const Json* inner = child(json, metric.section);
  if (inner != nullptr) inner = child(*inner, metric.key);
  if (inner == nullptr) return std::nullopt;
  if (inner->is_boolean()) return inner->get<bool>() ? 1.0 : 0.0;
  if (!inner->is_number()) return std::nullopt;
  return inner->get<double>();
}

std::optional<std::pair<double, double>> interval_of(const Json& step) {
  const Json* interval = child(step, "interval_90_s");
  if (interval == nullptr || !interval->is_array() || interval->size() != 2) return std::nullopt;
  const Json& low = interval->front();
  const Json& high = interval->back();
  if (!low.is_number() || !high.is_number()) return std::nullopt;
  return std::pair{low.get<double>(), high.get<double>()};
}

/// Whether the allocator had to free cached memory, which a run warns of.
bool runs_tight(const Json& json) {
  const Json* warnings = child(json, "warnings");
  if (warnings == nullptr || !warnings->is_array()) return false;
  return std::ranges::any_of(*warnings, [](const Json& one) {
    return one.is_string() && one.get_ref<const std::string&>().starts_with("memory is tight");
  });
}

bool read_point(const Json& json, SweepRow& row) {
  const Json* point = child(json, "point");
  if (point == nullptr) return false;
  const Json* index = child(*point, "index");
  const Json* of = child(*point, "of");
  const Json* values = child(*point, "values");
  if (index == nullptr || of == nullptr || values == nullptr || !index->is_number_integer() ||
      !of->is_number_integer() || !values->is_object()) {
    return false;
  }
  row.index = index->get<std::int64_t>();
  row.of = of->get<std::int64_t>();
  for (const auto& [key, value] : values->items()) {
    row.values.push_back({key, value.is_string() ? value.get<std::string>() : value.dump()});
  }
  return row.index >= 0 && row.index < row.of && row.of <= most_sweep_points;
}

/// As RFC 4180 has it: in quotes where it must be.
void append_cell(std::string& out, std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    out += text;
    return;
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

void append_number(std::string& out, MetricUnit unit, double value) {
  constexpr double exact = 0x1p53;
  if (unit == MetricUnit::yes_or_no) {
    out += value != 0 ? "true" : "false";
  } else if (value > -exact && value < exact && value == std::trunc(value)) {
    simcore::append_json_number(out, static_cast<std::int64_t>(value));
  } else {
    simcore::append_json_number(out, value);
  }
}

}  // namespace

std::optional<SweepRow> read_row(std::string_view line) {
  if (line.size() > max_row_bytes || simcore::json_too_large(line)) return std::nullopt;
  const Json json = Json::parse(line, nullptr, false);
  const Json* schema = child(json, "schema");
  if (schema == nullptr || *schema != sweep_schema) return std::nullopt;
  SweepRow row;
  if (!read_point(json, row)) return std::nullopt;
  row.hash = text_at(json, "scenario", "hash");
  row.scenario = text_at(json, "scenario", "name");
  row.version = text_at(json, "simulator", "version");
  row.gpu = text_at(json, "cluster", "gpu");
  row.failed = text_at(json, "failed", "kind");
  row.message = text_at(json, "failed", "message");
  if (row.failed.empty() && runs_tight(json)) row.message = "memory is tight";
  if (const Json* step = child(json, "step"); step != nullptr) {
    const Json* comparable = child(*step, "comparable");
    row.comparable = comparable != nullptr && *comparable == true;
    row.comparable_what = text_at(json, "step", "comparable_what");
    row.interval_s = interval_of(*step);
  }
  for (MetricId id = 0; id < metrics.size(); ++id) row.figures[id] = number_of(json, metrics[id]);
  return row;
}

std::string csv_header(const std::vector<std::string>& keys) {
  std::string out = "index";
  for (const std::string& key : keys) {
    out += ',';
    append_cell(out, key);
  }
  out += ",gpu";
  for (const Metric& one : metrics) {
    // A figure that is swept over has its axis' column, too.
    const bool taken = std::ranges::find(keys, one.name()) != keys.end();
    out += (taken ? ",result." : ",") + std::string(one.name());
  }
  out += ",step.interval_90_low_s,step.interval_90_high_s,step.comparable";
  return out + ",failed,message,schema,version,scenario_hash\n";
}

std::string csv_row(const SweepRow& row) {
  std::string out = std::to_string(row.index);
  const auto cell = [&out](std::string_view text) {
    out += ',';
    append_cell(out, text);
  };
  for (const PointValue& one : row.values) cell(one.value);
  cell(row.gpu);
  for (MetricId id = 0; id < metrics.size(); ++id) {
    out += ',';
    if (row.figures[id]) append_number(out, metrics[id].unit, *row.figures[id]);
  }
  if (row.interval_s) {
    out += ',';
    append_number(out, MetricUnit::seconds, row.interval_s->first);
    out += ',';
    append_number(out, MetricUnit::seconds, row.interval_s->second);
    out += row.comparable ? ",true" : ",false";
  } else {
    out += ",,,";
  }
  for (const std::string& text :
       {row.failed, row.message, std::string(sweep_schema), row.version, row.hash}) {
    cell(text);
  }
  return out + "\n";
}

}  // namespace shardsim::scenario

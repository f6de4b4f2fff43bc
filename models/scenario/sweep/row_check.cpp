#include "models/scenario/sweep/row_check.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/scenario/sweep/metric.hpp"

namespace shardsim::scenario {

using Json = nlohmann::ordered_json;

namespace {

const Json* child(const Json& json, std::string_view key) {
  const auto found = json.find(key);
  return found == json.end() ? nullptr : &*found;
}

bool is_quantity(const Json& value, MetricUnit unit) {
  if (unit == MetricUnit::yes_or_no) return value.is_boolean();
  if (unit == MetricUnit::bytes && !value.is_number_integer()) return false;
  return value.is_number() && value.get<double>() >= 0;  // the reader refuses what is not finite
}

/// Figures that a result may leave open: a workload without tokens has no throughput in them.
bool may_be_null(const Metric& metric) {
  return metric.section == "throughput" || metric.key == "per_million_tokens";
}

std::string figure_flaw(const Json& line) {
  for (const Metric& one : metrics) {
    const Json* section = child(line, one.section);
    if (section == nullptr || !section->is_object()) continue;  // asked by section_flaw
    const Json* value = child(*section, one.key);
    if (value == nullptr) return fmt::format("it has no '{}'", one.name());
    if (value->is_null() && may_be_null(one)) continue;
    if (!is_quantity(*value, one.unit)) {
      return fmt::format("'{}' is {}", one.name(),
                         value->dump(-1, ' ', false, Json::error_handler_t::replace));
    }
  }
  return {};
}

std::string interval_flaw(const Json& step) {
  const Json* interval = child(step, "interval_90_s");
  if (interval == nullptr) return "it has no 'step.interval_90_s'";
  if (interval->is_null()) return {};
  const bool good = interval->is_array() && interval->size() == 2 &&
                    std::ranges::all_of(*interval, [](const Json& bound) {
                      return is_quantity(bound, MetricUnit::seconds);
                    });
  return good ? "" : "'step.interval_90_s' is no interval";
}

bool is_failure(const Json& failed) {
  if (!failed.is_object()) return false;
  const Json* kind = child(failed, "kind");
  const Json* message = child(failed, "message");
  return kind != nullptr && kind->is_string() && !kind->get_ref<const std::string&>().empty() &&
         message != nullptr && message->is_string();
}

std::string section_flaw(const Json& line) {
  const Json* failed = child(line, "failed");
  if (failed != nullptr && !is_failure(*failed)) return "'failed' has no kind and message";
  for (const char* name : {"step", "throughput"}) {
    const Json* section = child(line, name);
    const bool good =
        section != nullptr && (failed != nullptr ? section->is_null() : section->is_object());
    if (!good) {
      return fmt::format("'{}' is {}", name,
                         failed != nullptr ? "there beside a failure" : "missing");
    }
  }
  const Json* memory = child(line, "memory");
  if (memory == nullptr || !(memory->is_null() || memory->is_object())) {
    return "'memory' is missing";
  }
  for (const char* name : {"scenario", "cluster", "simulator"}) {
    const Json* section = child(line, name);
    if (section == nullptr || !section->is_object()) return fmt::format("'{}' is missing", name);
  }
  for (const char* name : {"collectives", "links", "critical_path", "warnings"}) {
    const Json* list = child(line, name);
    if (list == nullptr || !list->is_array()) return fmt::format("'{}' is missing", name);
  }
  const Json* cost = child(line, "cost");
  if (cost != nullptr && !cost->is_null() && !cost->is_object()) return "'cost' is no section";
  return {};
}

}  // namespace

std::string row_flaw(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return "it is no JSON object";
  if (std::string flaw = section_flaw(json); !flaw.empty()) return flaw;
  if (std::string flaw = figure_flaw(json); !flaw.empty()) return flaw;
  if (json["step"].is_object()) {
    if (std::string flaw = interval_flaw(json["step"]); !flaw.empty()) return flaw;
  }
  // Blanks, a byte order mark, another order of digits: the end of a sweep is the same bytes.
  if (json.dump(-1, ' ', false, Json::error_handler_t::replace) != line) {
    return "it is not spelt as the program writes it";
  }
  return {};
}

}  // namespace shardsim::scenario

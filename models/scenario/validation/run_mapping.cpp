#include "models/scenario/validation/run_mapping.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "simcore/config/override.hpp"

namespace shardsim::scenario {

using simcore::ConfigNode;
using simcore::Diagnostics;
using simcore::SourceText;

namespace {

/// Keys that the rules have to decide, and the columns that they decide them by.
struct Decision {
  std::string_view key;
  std::string_view column;
};
constexpr std::array decisions{Decision{"training.strategy", "framework"},
                               Decision{"cluster.topology", "gpu"},
                               Decision{"workload.model.family", "model"},
                               Decision{"workload.precision", "precision"},
                               Decision{"workload.activation_checkpointing", "act_ckpt"},
                               Decision{"workload.compile", "compile"}};

/// Columns whose numbers are keys of the scenario.
constexpr std::array sizes{Decision{"workload.sequence_length", "seq_len"},
                           Decision{"workload.micro_batch_size", "micro_batch"},
                           Decision{"workload.gradient_accumulation", "grad_accum"},
                           Decision{"workload.model.layers", "layers"},
                           Decision{"workload.model.hidden", "hidden"},
                           Decision{"workload.model.heads", "heads"},
                           Decision{"workload.model.kv_heads", "kv_heads"},
                           Decision{"workload.model.ffn_hidden", "ffn_hidden"},
                           Decision{"workload.model.vocabulary", "vocab"}};

/// Degrees of parallelism besides data parallelism.
constexpr std::array parallelisms{Decision{"tensor", "tp"}, Decision{"pipeline", "pp"},
                                  Decision{"context", "cp"}, Decision{"expert", "ep"}};

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole ? std::optional(value) : std::nullopt;
}

class Mapping {
 public:
  Mapping(const TrainingRun& run, const MappingRules& rules, const Settings& unstated)
      : run_(run), rules_(rules), unstated_(unstated) {}

  /// Why not, or nothing.
  std::optional<std::string> collect() {
    if (auto reason = apply_rules()) return reason;
    for (const Decision& one : parallelisms) {
      const std::int64_t degree = run_.count(one.column).value_or(1);
      if (degree == 1) continue;
      return fmt::format("{} parallelism is not simulated ({} = {})", one.key, one.column, degree);
    }
    if (auto reason = sizes_from_columns()) return reason;
    for (const Decision& one : decisions) {
      if (settings_.contains(std::string(one.key))) continue;
      if (run_.states(one.column)) {
        return rules_.no_rule(one.column, run_.text(one.column), std::string(one.key));
      }
      if (auto reason = leave_open(one)) return reason;
    }
    if (auto reason = cluster_from_columns()) return reason;
    return rules_.why_unknown(run_);
  }

  const Settings& settings() const { return settings_; }

 private:
  std::optional<std::string> leave_open(const Decision& one) {
    const auto given = unstated_.find(std::string(one.key));
    if (given == unstated_.end()) return fmt::format("the source does not say: {}", one.column);
    settings_[given->first] = given->second;
    return std::nullopt;
  }

  std::optional<std::string> apply_rules() {
    for (const MappingRule& rule : rules_.rules) {
      if (!rule.applies_to(run_)) continue;
      if (rule.refuse) return rule.refuse;
      for (const auto& [key, value] : rule.set) settings_[key] = value;
    }
    return std::nullopt;
  }

  std::optional<std::string> sizes_from_columns() {
    for (const Decision& one : sizes) {
      const auto value = run_.count(one.column);
      if (value) {
        settings_[std::string(one.key)] = std::to_string(*value);
      } else if (auto reason = leave_open(one)) {
        return reason;
      }
    }
    return std::nullopt;
  }

  /// GPUs are counted out node by node; `cluster.gpus_per_node` of a rule says how many a node has
  /// where the column does not.
  std::optional<std::string> cluster_from_columns() {
    const auto gpus = run_.count("gpus");
    if (!gpus) return "the source does not say: gpus";
    std::int64_t in_node = run_.count("gpus_per_node").value_or(0);
    if (in_node == 0) {
      // A rule's value was checked where it stands; rules built in code may hold any.
      const auto usual = settings_.find("cluster.gpus_per_node");
      in_node = usual == settings_.end() ? 8 : whole_number(usual->second).value_or(0);
    }
    if (in_node < 1) return "cluster.gpus_per_node is no number of GPUs";
    in_node = std::min(in_node, *gpus);
    if (*gpus % in_node != 0) {
      return fmt::format("{} GPUs do not fill nodes of {}", *gpus, in_node);
    }
    settings_["cluster.gpus_per_node"] = std::to_string(in_node);
    settings_["cluster.nodes"] = std::to_string(*gpus / in_node);
    return std::nullopt;
  }

  const TrainingRun& run_;
  const MappingRules& rules_;
  const Settings& unstated_;
  Settings settings_;
};

/// A text of any characters as a YAML scalar: single quotes keep all but themselves.
std::string yaml_text(std::string_view text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

std::string first_error(const Diagnostics& diagnostics) {
  for (const simcore::Diagnostic& one : diagnostics.all()) {
    if (one.severity == simcore::Severity::error) return one.message;
  }
  return "no scenario";
}

}  // namespace

std::expected<LoadedScenario, std::string> map_run(const TrainingRun& run,
                                                   const MappingRules& rules,
                                                   const std::filesystem::path& rules_file,
                                                   const Settings& unstated) {
  Mapping mapping(run, rules, unstated);
  if (auto reason = mapping.collect()) return std::unexpected(std::move(*reason));
  const std::string& id = run.text("row_id");
  Diagnostics diagnostics;
  const auto source = std::make_shared<SourceText>(SourceText{id, ""});
  LoadedScenario loaded;
  loaded.root = ConfigNode::make_map({source, 0, 0});
  simcore::apply_override(loaded.root, "name=" + yaml_text(id), diagnostics, id);
  for (const auto& [key, value] : mapping.settings()) {
    loaded.overrides.push_back(fmt::format("{}={}", key, value));
    simcore::apply_override(loaded.root, loaded.overrides.back(), diagnostics, id);
  }
  loaded.spec = simcore::read_config<ScenarioSpec>(loaded.root, diagnostics);
  if (diagnostics.has_errors()) return std::unexpected(first_error(diagnostics));
  loaded.file = rules_file;
  return loaded;
}

}  // namespace shardsim::scenario

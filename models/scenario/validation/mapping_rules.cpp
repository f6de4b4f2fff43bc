#include "models/scenario/validation/mapping_rules.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/validation/rule_values.hpp"

namespace shardsim::scenario {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// What a pattern with one '*', at its end, begins with, "FSDP1" of "FSDP1 (*"; other patterns
/// spell nothing.
std::string spelling_of(std::string pattern) {
  if (pattern.ends_with('*')) {
    pattern.pop_back();
    while (pattern.ends_with(' ') || pattern.ends_with('(')) pattern.pop_back();
  }
  return pattern.contains('*') ? std::string() : pattern;
}

std::string no_rule_message(std::string_view column, const std::string& text,
                            const std::vector<std::string>& patterns) {
  std::vector<std::string> spellings;
  for (const std::string& pattern : patterns) spellings.push_back(spelling_of(pattern));
  return fmt::format("no rule for {} {}{}", column, simcore::quote(text),
                     simcore::did_you_mean(simcore::nearest_name(text, spellings)));
}

}  // namespace

void MappingRule::describe(simcore::Fields<MappingRule>& fields) {
  fields.optional("when", &MappingRule::when,
                  "Columns and the patterns of which one must match the text; `*` stands for any "
                  "text. Left out: always.");
  fields.optional("refuse", &MappingRule::refuse, "Why such a run cannot be simulated.");
  fields.optional("refuse_time", &MappingRule::refuse_time,
                  "Why its step time cannot be forecast, while its memory can.");
  fields.optional("set", &MappingRule::set, "Keys of the scenario and their values.");
  fields.optional("known", &MappingRule::known,
                  "`true`: the text is known and changes nothing (see `must_know`).");
}

bool MappingRule::applies_to(const TrainingRun& run) const {
  return std::ranges::all_of(when, [&run](const auto& condition) {
    const std::string& text = run.text(condition.first);
    return std::ranges::any_of(
        condition.second, [&text](const std::string& pattern) { return matches(pattern, text); });
  });
}

void MappingRule::check(const MappingRule& rule, const simcore::ConfigNode& node,
                        simcore::Diagnostics& diagnostics) {
  const int given = int{rule.refuse.has_value()} + int{rule.refuse_time.has_value()} +
                    int{!rule.set.empty()} + int{rule.known};
  if (given != 1) {
    diagnostics.error(node.where(),
                      "expected one of 'refuse', 'refuse_time', 'set' and 'known: true'");
  }
}

void MemoryRule::describe(simcore::Fields<MemoryRule>& fields) {
  fields.required("kind", &MemoryRule::kind, "Pattern for `peak_memory_kind`.").not_empty();
  fields.required("is", &MemoryRule::is, "What it is compared with.");
}

void MappingRules::describe(simcore::Fields<MappingRules>& fields) {
  fields.required("rules", &MappingRules::rules, "Applied in order.");
  fields.optional("must_know", &MappingRules::must_know,
                  "Columns of which a text that no applying rule looks at leaves the run out.");
  fields.optional("memory", &MappingRules::memory, "What published peaks of memory count.");
}

void MappingRules::check(const MappingRules& made, const simcore::ConfigNode& node,
                         simcore::Diagnostics& diagnostics) {
  const simcore::ConfigNode* const list = node.find("rules");
  if (list == nullptr || list->items().size() != made.rules.size()) return;
  const simcore::TypeSchema scenario = simcore::schema_of<ScenarioSpec>();
  for (std::size_t i = 0; i < made.rules.size(); ++i) {
    const simcore::ConfigNode* const set = list->items()[i].find("set");
    if (set == nullptr) continue;
    for (const auto& [key, value] : made.rules[i].set) {
      check_set_value(scenario, key, value, set->where_key(key), set->where_value(key),
                      diagnostics);
    }
  }
}

std::optional<std::string> MappingRules::why_no_time(const TrainingRun& run) const {
  for (const MappingRule& rule : rules) {
    if (rule.refuse_time && rule.applies_to(run)) return rule.refuse_time;
  }
  return std::nullopt;
}

std::expected<MemoryFigure, std::string> MappingRules::figure(
    const std::string& peak_memory_kind) const {
  if (peak_memory_kind.empty()) return MemoryFigure::unstated;
  std::vector<std::string> patterns;
  for (const MemoryRule& rule : memory) {
    if (matches(rule.kind, peak_memory_kind)) return rule.is;
    patterns.push_back(rule.kind);
    std::erase(patterns.back(), '*');  // what is counted is said in the middle of the text
  }
  return std::unexpected(no_rule_message("peak_memory_kind", peak_memory_kind, patterns));
}

std::optional<std::string> MappingRules::why_unknown(const TrainingRun& run) const {
  for (const std::string& column : must_know) {
    const bool known = !run.states(column) || std::ranges::any_of(rules, [&](const auto& rule) {
      return rule.when.contains(column) && rule.applies_to(run);
    });
    if (!known) return no_rule(column, run.text(column), {});
  }
  return std::nullopt;
}

std::string MappingRules::no_rule(std::string_view column, const std::string& text,
                                  const std::string& key) const {
  std::vector<std::string> patterns;
  for (const MappingRule& rule : rules) {
    const auto found = rule.when.find(std::string(column));
    if (found == rule.when.end() || !(key.empty() || rule.set.contains(key))) continue;
    patterns.insert(patterns.end(), found->second.begin(), found->second.end());
  }
  return no_rule_message(column, text, patterns);
}

void check_rules(const MappingRules& rules, const TrainingTable& table,
                 simcore::Diagnostics& diagnostics) {
  std::set<std::string> missing;
  for (const MappingRule& rule : rules.rules) {
    for (const auto& [column, patterns] : rule.when) {
      if (!table.has(column)) missing.insert(column);
    }
  }
  for (const std::string& column : rules.must_know) {
    if (!table.has(column)) missing.insert(column);
  }
  if (missing.empty()) return;
  diagnostics.error(table.whole(), fmt::format("the rules look at columns that are missing: {}",
                                               fmt::join(missing, ", ")));
}

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0;
  std::size_t t = 0;
  std::size_t star = std::string_view::npos;  // the last '*', and the text that it began at
  std::size_t taken = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = t;
    } else if (p < pattern.size() && lower(pattern[p]) == lower(text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++taken;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace shardsim::scenario

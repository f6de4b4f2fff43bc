// How published training runs become scenarios: rules as data (`validation/training_rules.yaml`).
//
// A rule looks at the text of columns and either sets keys of the scenario or refuses the run, or
// its step time alone, with a reason. Rules apply in order, so that a later one can be more precise
// than an earlier one; the first refusal that applies is the run's. Nothing in a rule names a
// single run: what a rule sets is what the run's source says about itself, or what its framework
// does by default.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/validation/training_table.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::scenario {

struct MappingRule {
  /// Column: patterns, one of which must match its text. All columns must match.
  std::map<std::string, std::vector<std::string>> when;
  std::optional<std::string> refuse;       ///< why such a run cannot be simulated
  std::optional<std::string> refuse_time;  ///< why its step time cannot be forecast, but its memory
  std::map<std::string, std::string> set;  ///< dotted key of the scenario: value
  bool known = false;                      ///< the text is known, and changes nothing

  bool applies_to(const TrainingRun& run) const;

  static void describe(simcore::Fields<MappingRule>& fields);
  static void check(const MappingRule& rule, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

/// Which figure of a result a published peak is compared with.
enum class MemoryFigure : std::uint8_t {
  unstated,   ///< none: the source does not say what it counts
  allocated,  ///< torch.cuda.max_memory_allocated, or active
  reserved,   ///< torch.cuda.max_memory_reserved
  device,     ///< nvidia-smi: reserved, CUDA context and NCCL
};

struct MemoryRule {
  std::string kind;  ///< pattern for peak_memory_kind
  MemoryFigure is = MemoryFigure::reserved;
  static void describe(simcore::Fields<MemoryRule>& fields);
};

struct MappingRules {
  std::vector<MappingRule> rules;
  std::vector<std::string> must_know;  ///< columns whose text some rule that applies looks at
  std::vector<MemoryRule> memory;      ///< the first that matches counts
  static void describe(simcore::Fields<MappingRules>& fields);
  static void check(const MappingRules& made, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);

  /// The first reason not to forecast the run's step time while its memory can be.
  std::optional<std::string> why_no_time(const TrainingRun& run) const;
  /// The error says that no rule knows what `peak_memory_kind` means.
  std::expected<MemoryFigure, std::string> figure(const std::string& peak_memory_kind) const;
  /// Why a column of `must_know` is not understood, with the nearest text that is.
  std::optional<std::string> why_unknown(const TrainingRun& run) const;
  /// "no rule for gpu 'H100-80G'; did you mean 'H100-80GB'?", by the rules that set `key`; empty:
  /// by all.
  std::string no_rule(std::string_view column, const std::string& text,
                      const std::string& key) const;
};

/// Reports columns that the rules look at and the table does not have.
void check_rules(const MappingRules& rules, const TrainingTable& table,
                 simcore::Diagnostics& diagnostics);

/// Whether all of `text` fits `pattern`, in which '*' stands for any text; case does not matter.
bool matches(std::string_view pattern, std::string_view text);

}  // namespace shardsim::scenario

namespace shardsim::simcore {

template <>
struct EnumNames<scenario::MemoryFigure> {
  static constexpr auto values = std::to_array<EnumName<scenario::MemoryFigure>>(
      {{"unstated", scenario::MemoryFigure::unstated},
       {"allocated", scenario::MemoryFigure::allocated},
       {"reserved", scenario::MemoryFigure::reserved},
       {"device", scenario::MemoryFigure::device}});
};

}  // namespace shardsim::simcore

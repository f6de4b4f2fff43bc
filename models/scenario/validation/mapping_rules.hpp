// How published training runs become scenarios: rules as data (`validation/training_rules.yaml`).
//
// A rule looks at the text of columns and either sets keys of the scenario or refuses the run, or
// its step time alone, with a reason. Rules apply in order, so that a later one can be more precise
// than an earlier one; the first refusal that applies is the run's. Nothing in a rule names a
// single run: what a rule sets is what the run's source says about itself, or what its framework
// does by default.
#pragma once

#include <cstdint>
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

  bool applies_to(const TrainingRun& run) const;

  static void describe(simcore::Fields<MappingRule>& fields);
  static void check(const MappingRule& rule, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

/// Which figure of a result a published peak is compared with.
enum class MemoryFigure : std::uint8_t {
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
  std::vector<MemoryRule> memory;  ///< the first that matches counts
  static void describe(simcore::Fields<MappingRules>& fields);

  /// The first reason not to forecast the run's step time while its memory can be.
  std::optional<std::string> why_no_time(const TrainingRun& run) const;
  /// Nothing if no rule says what `peak_memory_kind` means.
  std::optional<MemoryFigure> figure(std::string_view peak_memory_kind) const;
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
      {{"allocated", scenario::MemoryFigure::allocated},
       {"reserved", scenario::MemoryFigure::reserved},
       {"device", scenario::MemoryFigure::device}});
};

}  // namespace shardsim::simcore

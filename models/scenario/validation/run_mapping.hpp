// A published training run as a scenario, or why it cannot be one.
//
// Sizes come from the run's columns, choices from the mapping rules. What the columns leave out is
// not guessed: the run is refused and says which column.
#pragma once

#include <expected>
#include <filesystem>
#include <map>
#include <string>

#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/validation/mapping_rules.hpp"
#include "models/scenario/validation/training_table.hpp"

namespace shardsim::scenario {

/// Keys of the scenario and their values.
using Settings = std::map<std::string, std::string>;

/// `rules_file` is where relative names in the scenario start from; `unstated` decides what neither
/// the source nor a rule does. The error is one sentence.
std::expected<LoadedScenario, std::string> map_run(const TrainingRun& run,
                                                   const MappingRules& rules,
                                                   const std::filesystem::path& rules_file,
                                                   const Settings& unstated = {});

}  // namespace shardsim::scenario

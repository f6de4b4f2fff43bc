// A published training run as a scenario, or why it cannot be one.
//
// Sizes come from the run's columns, choices from the mapping rules. What the columns leave out is
// not guessed: the run is refused and says which column.
#pragma once

#include <expected>
#include <filesystem>
#include <string>

#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/validation/mapping_rules.hpp"
#include "models/scenario/validation/training_table.hpp"

namespace shardsim::scenario {

/// `rules_file` is where relative names in the scenario start from. The error is one sentence.
std::expected<LoadedScenario, std::string> map_run(const TrainingRun& run,
                                                   const MappingRules& rules,
                                                   const std::filesystem::path& rules_file);

}  // namespace shardsim::scenario

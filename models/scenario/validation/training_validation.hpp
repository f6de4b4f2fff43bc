// Holds forecasts against published training runs.
//
// Each run that the rules can write as a scenario is simulated (ranks that move alike by one of
// them) and compared with its measured step time and peak memory. A step time that is not printed
// follows from tokens per second. Runs of trust C are listed and not scored.
#pragma once

#include <filesystem>
#include <functional>

#include "models/scenario/experiment.hpp"
#include "models/scenario/validation/mapping_rules.hpp"
#include "models/scenario/validation/run_forecast.hpp"
#include "models/scenario/validation/training_table.hpp"
#include "models/scenario/validation/validation_report.hpp"

namespace shardsim::scenario {

struct TrainingValidation {
  MappingRules rules;
  std::filesystem::path rules_file;
  DataFolders data;
  ForecastBudget budget;
  /// Fills in ValidationRow::residual, which takes two more simulations of each run.
  bool with_residuals = false;
  /// Told of the share of runs that are done, 0..1.
  std::function<void(double)> progress;
};

ValidationReport validate_training(const TrainingTable& table, const TrainingValidation& options);

}  // namespace shardsim::scenario

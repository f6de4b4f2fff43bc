// The forecast of one published run.
#pragma once

#include <expected>
#include <string>

#include "models/scenario/accuracy/residual_table.hpp"
#include "models/scenario/experiment.hpp"
#include "models/scenario/result.hpp"
#include "models/scenario/scenario_spec.hpp"

namespace shardsim::scenario {

struct RunForecast {
  Result result;
  RunFacts facts;
};

struct NoForecast {
  std::string why;  ///< one sentence
  bool out_of_memory = false;
};

/// Simulates `scenario`, ranks that move alike by one of them, on hardware as `changes` make it.
std::expected<RunForecast, NoForecast> forecast(LoadedScenario scenario, const DataFolders& data,
                                                const HardwareChanges& changes = {});

}  // namespace shardsim::scenario

// The forecast of one published run.
#pragma once

#include <cstdint>
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

/// What the forecast of one run may take; a run beyond it has none, and says so.
struct ForecastBudget {
  network::SizeLimits sizes{};
  std::uint64_t events = 0;  ///< 0: no limit
};

struct NoForecast {
  std::string why;  ///< one sentence
  bool out_of_memory = false;
};

/// Simulates `scenario`, ranks that move alike by one of them, on hardware as `changes` make it.
std::expected<RunForecast, NoForecast> forecast(LoadedScenario scenario, const DataFolders& data,
                                                const ForecastBudget& budget,
                                                const HardwareChanges& changes = {});

}  // namespace shardsim::scenario

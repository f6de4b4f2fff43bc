#include "models/scenario/validation/run_forecast.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "models/scenario/simulation.hpp"

namespace shardsim::scenario {

std::expected<RunForecast, NoForecast> forecast(LoadedScenario scenario, const DataFolders& data,
                                                const ForecastBudget& budget,
                                                const HardwareChanges& changes) {
  simcore::Diagnostics diagnostics;
  ExperimentOptions options{data, false, changes};
  options.limits = budget.sizes;
  auto experiment = build_experiment(std::move(scenario), options, diagnostics);
  for (const simcore::Diagnostic& one : diagnostics.all()) {
    if (one.severity == simcore::Severity::error) return std::unexpected(NoForecast{one.message});
  }
  if (!experiment) return std::unexpected(NoForecast{"no experiment"});
  Simulation simulation(*experiment);
  const std::uint64_t most = budget.events > 0 ? budget.events : UINT64_MAX;
  while (simulation.advance(std::min(std::uint64_t{1} << 20, most - simulation.events()))) {
    if (simulation.events() < most) continue;
    return std::unexpected(
        NoForecast{fmt::format("its simulation takes more than --max-events {}", most)});
  }
  auto output = simulation.finish();
  if (!output) {
    const RunFailure& failure = output.error();
    const bool out_of_memory = failure.result && failure.result->out_of_memory;
    return std::unexpected(NoForecast{"in the forecast " + failure.message, out_of_memory});
  }
  RunFacts facts = facts_of(*experiment, output->result.step);
  return RunForecast{std::move(output->result), std::move(facts)};
}

}  // namespace shardsim::scenario

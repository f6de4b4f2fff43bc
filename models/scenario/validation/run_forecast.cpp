#include "models/scenario/validation/run_forecast.hpp"

#include <utility>

#include "models/scenario/simulation.hpp"

namespace shardsim::scenario {

std::expected<RunForecast, NoForecast> forecast(LoadedScenario scenario, const DataFolders& data,
                                                const HardwareChanges& changes) {
  simcore::Diagnostics diagnostics;
  auto experiment = build_experiment(std::move(scenario), {data, false, changes}, diagnostics);
  for (const simcore::Diagnostic& one : diagnostics.all()) {
    if (one.severity == simcore::Severity::error) return std::unexpected(NoForecast{one.message});
  }
  if (!experiment) return std::unexpected(NoForecast{"no experiment"});
  Simulation simulation(*experiment);
  while (simulation.advance(1 << 20)) {
  }
  auto output = simulation.finish();
  if (!output) {
    const RunFailure& failure = output.error();
    const bool out_of_memory = failure.result && failure.result->out_of_memory;
    return std::unexpected(NoForecast{"in the forecast " + failure.message, out_of_memory});
  }
  return RunForecast{std::move(output->result), facts_of(*experiment)};
}

}  // namespace shardsim::scenario

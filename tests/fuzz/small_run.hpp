// From a scenario to its results, as far as that is quick.
#pragma once

#include "models/scenario/scenario_spec.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::fuzz {

/// Whether building it is a matter of milliseconds.
bool is_small(const scenario::ScenarioSpec& spec);

/// Builds the experiment and runs it for a bounded number of events; a run that comes to its end
/// writes all of its outputs, which must be what they say (JSON, say).
void build_and_run(scenario::LoadedScenario scenario, simcore::Diagnostics& diagnostics);

}  // namespace shardsim::fuzz

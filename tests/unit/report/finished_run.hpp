// A shipped scenario, run to its end.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/scenario/experiment.hpp"
#include "models/scenario/simulation.hpp"

namespace shardsim::report {

struct FinishedRun {
  explicit FinishedRun(const std::string& name, const std::vector<std::string>& overrides = {}) {
    const std::filesystem::path root = SHARDSIM_SOURCE_DIR;
    simcore::Diagnostics diagnostics;
    auto loaded =
        scenario::load_scenario(root / "scenarios" / (name + ".yaml"), overrides, diagnostics);
    REQUIRE(loaded);
    scenario::ExperimentOptions options;
    options.data.topologies = root / "topologies";
    options.data.scenarios = root / "scenarios";
    auto built = scenario::build_experiment(std::move(*loaded), options, diagnostics);
    REQUIRE(built);
    experiment = std::make_unique<scenario::Experiment>(std::move(*built));
    scenario::Simulation simulation(*experiment);
    while (simulation.advance(1 << 16)) {
    }
    auto finished = simulation.finish();
    REQUIRE(finished);
    output = std::move(*finished);
    loads = simulation.link_loads();
  }

  std::unique_ptr<scenario::Experiment> experiment;
  scenario::RunOutput output;
  std::vector<scenario::LinkLoad> loads;
};

}  // namespace shardsim::report

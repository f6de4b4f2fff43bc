// From the arguments of a sweep to its plan: reads the scenario, prices and measured points, and
// makes the hash that tells one sweep from another.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/measured_points.hpp"
#include "cli/sweep_arguments.hpp"
#include "models/scenario/sweep/shard.hpp"
#include "models/scenario/sweep/sweep_plan.hpp"
#include "models/scenario/sweep/sweep_point.hpp"

namespace shardsim::cli {

struct SweepSession {
  std::unique_ptr<scenario::InputCache> inputs = std::make_unique<scenario::InputCache>();
  scenario::SweepSetting setting;
  std::optional<scenario::SweepPlan> plan;
  std::optional<MeasuredPoints> measured;
  scenario::Shard shard;
  std::string shard_from;   ///< variable that the part was taken from; empty: it was asked for
  std::string data_folder;  ///< as given with --data
};

/// What a command adds to the scenario's own axes, once the scenario is known.
using AxesFrom = std::function<std::vector<scenario::SweepAxis>(
    const scenario::LoadedScenario& scenario, const scenario::SweepSetting& setting)>;

/// Nothing, with messages on standard error, if anything is wrong. `further_axes` is asked where
/// neither the scenario nor the arguments have axes.
std::optional<SweepSession> open_session(const SweepArguments& arguments, bool rehearse_memory,
                                         const AxesFrom& further_axes);

}  // namespace shardsim::cli

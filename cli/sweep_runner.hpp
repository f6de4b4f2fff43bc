// Runs the points of a sweep side by side.
#pragma once

#include <functional>
#include <string>

#include "cli/sweep_journal.hpp"
#include "models/scenario/sweep/shard.hpp"
#include "models/scenario/sweep/sweep_plan.hpp"
#include "models/scenario/sweep/sweep_point.hpp"

namespace shardsim::cli {

struct SweepJob {
  const scenario::SweepPlan& plan;
  const scenario::SweepSetting& setting;
  scenario::Shard shard;
  int threads = 1;
  /// Measured figures of the same run as JSON text; empty: none.
  std::function<std::string(const scenario::PointOutcome&)> measured;
};

/// Runs the shard's points that the journal lacks and appends each as it is finished. False if the
/// journal cannot be written.
bool run_missing_points(const SweepJob& job, SweepJournal& journal);

}  // namespace shardsim::cli

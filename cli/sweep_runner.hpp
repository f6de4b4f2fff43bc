// Runs the points of a sweep side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

/// In how many points each of their notes is (PointOutcome::notes).
using NoteCounts = std::map<std::string, std::int64_t>;
void count_notes(const scenario::PointOutcome& outcome, NoteCounts& counts);
/// On standard error, in the name of the command; `points` were run.
void tell_notes(const NoteCounts& counts, std::int64_t points);

struct SweepRun {
  std::int64_t missing = 0;       ///< points that were not there at the beginning
  std::int64_t finished = 0;      ///< of them; the others were given up (SweepSetting::give_up)
  scenario::CheckSummary checks;  ///< of all points
  /// Why the machine could run no more of them, and nothing is known of the point that it was at;
  /// empty: it could.
  std::string machine_failure;
  NoteCounts notes;
};

/// Runs the shard's points that the journal lacks and appends each as it is finished. If the
/// journal cannot be written it says so itself.
SweepRun run_missing_points(const SweepJob& job, SweepJournal& journal);
/// A point's run. If memory ends the point fails for that, and the sweep can go on.
scenario::PointOutcome run_within_memory(const scenario::SweepPlan& plan, std::int64_t index,
                                         const scenario::SweepSetting& setting);

}  // namespace shardsim::cli

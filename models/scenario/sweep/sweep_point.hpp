// One point of a sweep: its run, and the line that it becomes.
//
// A point that cannot be run, or that fails, is a result as well: it says what kind of failure it
// was and why. Lines hold nothing that depends on the machine, the number of threads or the time of
// day, so a sweep always gives the same bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/accuracy/residual_table.hpp"
#include "models/scenario/checks/check_log.hpp"
#include "models/scenario/experiment.hpp"
#include "models/scenario/result.hpp"
#include "models/scenario/sweep/price_list.hpp"
#include "models/scenario/sweep/sweep_plan.hpp"

namespace shardsim::scenario {

inline constexpr const char* sweep_schema = "shardsim.sweep/1";

/// What the runs of a sweep share.
struct SweepSetting {
  ExperimentOptions experiment;
  ResidualTable residuals;
  std::string version;
  std::optional<PriceList> prices;
  /// Points that cannot fit are found by rehearsing their allocations, and not simulated.
  bool rehearse_memory = false;
  bool check = false;            ///< watch the invariants of every run
  std::uint64_t max_events = 0;  ///< of a run; more are a failure. 0: no limit
  /// True once the caller wants no more: runs in progress are abandoned. Any thread may ask.
  std::function<bool()> give_up{};
};

struct PointFailure {
  /// bad_value, out_of_memory, no_route, deadlock, too_long, over_budget, invariant
  std::string kind;
  std::string message;
};

struct PointOutcome {
  Result result;  ///< with a failure: what is known all the same
  std::optional<PointFailure> failed;
  /// Memory, the GPU's or the host's, did not suffice in a rehearsal; there was no run.
  bool rehearsed_only = false;
  bool abandoned = false;  ///< given up: neither result nor failure
  /// Why the machine could not run the point, which is then abandoned: its input is as it was, but
  /// could not be read. Empty: it could.
  std::string machine_failure;
  std::optional<CheckSummary> checks;
  /// Warnings of the point's input: among those of its line, and to be told once for many points.
  std::vector<std::string> notes;
};

PointOutcome run_point(const SweepPlan& plan, std::int64_t index, const SweepSetting& setting);
/// The outcome of a point that was not run, or of whose run nothing is known.
PointOutcome failed_point(const SweepPlan& plan, std::int64_t index, PointFailure failure);

/// How the point's line begins: up to and with its values. The line goes on with a comma.
std::string point_head(const SweepPlan& plan, std::int64_t index);
/// A JSON object on one line, with its newline: `shardsim.sweep/1`. `measured` are published
/// figures of the same run, as JSON text of an array, or empty.
std::string point_line(const SweepPlan& plan, std::int64_t index, const PointOutcome& outcome,
                       const SweepSetting& setting, const std::string& measured = {});

}  // namespace shardsim::scenario

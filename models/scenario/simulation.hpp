// Runs an experiment and makes its result.
//
// The caller owns the clock: it advances the run in slices of events, so that it can draw a
// progress line or stop, and fills in what only it can measure (Result::simulator.wall_s).
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/checks/check_log.hpp"
#include "models/scenario/experiment.hpp"
#include "models/scenario/memory_snapshot.hpp"
#include "models/scenario/result.hpp"
#include "models/scenario/step_log.hpp"

namespace shardsim::scenario {

enum class FailureKind : std::uint8_t {
  out_of_memory,
  no_route,
  deadlock,
  too_long,
  invariant,    ///< a check found the run at odds with itself: the simulator is wrong
  over_budget,  ///< stopped by the caller
};

/// Why a run is impossible: out of memory, or everybody waits for somebody.
struct RunFailure {
  std::string message;
  std::vector<std::string> details;  ///< one line each
  /// What is known all the same: where memory ran out, what it was used for.
  std::optional<Result> result = std::nullopt;
  FailureKind kind = FailureKind::deadlock;
};

struct RunOutput {
  Result result;
  std::vector<StepLog> logs;  ///< of the last measured step, by slot; see SimulationOptions
};

struct SimulationOptions {
  /// Keep everything that rank 0's allocator does for allocator_trace().
  bool trace_allocator = false;
  /// Ranks whose logs are wanted in any case. Of more than `most_logged` simulated ranks logs are
  /// kept of these, of rank 0, of the slowest and of those that a perturbation names.
  std::vector<int> ranks{};
  /// More simulated ranks than this are run all at once where that gives the same times
  /// (models/cuda/lockstep_run.hpp).
  std::size_t most_logged = 64;
  /// Watch the invariants (checks/run_checks.hpp). The result is the same to the bit.
  bool check = false;
  /// Operations of rank 0 to keep for what stop() tells.
  std::size_t recent = 0;
};

/// What a link carried in the measured steps.
struct LinkLoad {
  double bytes = 0;
  double busy_fraction = 0;  ///< share of the time with at least one flow
  double mean_share = 0;     ///< of the bandwidth, over the whole time
  double peak_share = 0;     ///< most of the bandwidth in use at any time
};

class Simulation {
 public:
  /// `experiment` must outlive the simulation.
  explicit Simulation(const Experiment& experiment, const SimulationOptions& options = {});
  ~Simulation();

  /// Handles up to `events` events; false when there are none left.
  bool advance(std::uint64_t events);
  /// Share of the steps that rank 0 has finished, 0..1.
  double progress() const;
  /// Events handled so far.
  std::uint64_t events() const;
  /// The result, or why there is none. Call once, after advance() has returned false.
  std::expected<RunOutput, RunFailure> finish();
  /// What there is to tell of a run that the caller gives up; `why` in a few words. In place of
  /// finish().
  RunFailure stop(const std::string& why);
  /// What was checked, after finish(); nothing without SimulationOptions::check.
  std::optional<CheckSummary> checks() const;
  /// What rank 0's allocator did and how its memory lies now, whether the run came to its end or
  /// not. Call once.
  AllocatorTrace allocator_trace();
  /// Of every link, by LinkId, in the measured steps. Once the run has ended.
  std::vector<LinkLoad> link_loads() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardsim::scenario

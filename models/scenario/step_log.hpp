// What one simulated rank did in one step: the raw material of timelines, traces and analysis.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cuda/program.hpp"
#include "models/cuda/runtime.hpp"
#include "simcore/time.hpp"

namespace shardsim::scenario {

/// A rank's step. Times are simulated time (not relative to the step).
struct StepLog {
  std::uint32_t slot = 0;
  int rank = 0;
  std::uint32_t step = 0;
  const cuda::Program* program = nullptr;
  simcore::SimTime begin;
  simcore::SimTime end;
  std::uint32_t first_op = 0;  ///< of the program: step_begin
  std::uint32_t last_op = 0;   ///< step_end
  /// Index op - first_op; `end` is never() for what is no kernel or collective.
  std::vector<cuda::OpRecord> ops;
  std::vector<cuda::CpuWaitRecord> cpu_waits;  ///< in issue order
  /// When the data of the k-th collective of the step on a communicator began to move:
  /// [communicator][k]. Empty where unknown.
  std::vector<std::vector<simcore::SimTime>> transfer_starts;

  const cuda::OpRecord& record(std::uint32_t op) const { return ops[op - first_op]; }
  bool ran(std::uint32_t op) const { return ops[op - first_op].end != simcore::SimTime::never(); }
};

/// Listens to a runtime and keeps the log of one step of chosen ranks.
class StepLogger {
 public:
  /// Logs `step` of every slot with `wanted[slot]`.
  StepLogger(cuda::Runtime& runtime, const std::vector<cuda::RankSetup>& ranks,
             const std::vector<bool>& wanted, std::uint32_t step);

  /// The finished logs, by slot; the logger is empty afterwards.
  std::vector<StepLog> take() { return std::move(logs_); }

 private:
  std::vector<StepLog> logs_;
  std::vector<std::uint32_t> log_of_slot_;
};

}  // namespace shardsim::scenario

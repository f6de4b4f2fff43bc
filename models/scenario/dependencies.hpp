// Why an operation started when it did: its dependencies in the program and which of them was last.
//
// Works on a StepLog alone, after the run: every dependency of a stream operation is in the
// program (stream order, event waits, communicator order, the CPU's issue), and every time is in
// the log. Following the last-satisfied dependency backwards gives the critical path.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/scenario/step_log.hpp"

namespace shardsim::scenario {

enum class CauseKind : std::uint8_t {
  kernel,      ///< the GPU computes; `op` says what
  collective,  ///< data moves
  peers,       ///< a collective's kernel waits for the slowest rank
  cpu,         ///< the CPU issues
  optimizer,   ///< the CPU computes the step of an optimizer whose states are in host memory
  launch,      ///< from issue to start on an idle GPU
};

/// A stretch of simulated time and what it was spent on.
struct Cause {
  CauseKind kind = CauseKind::kernel;
  std::uint32_t op = 0;  ///< kernel, collective, or the operation being issued
  simcore::SimTime from;
  simcore::SimTime to;
};

class Dependencies {
 public:
  explicit Dependencies(const StepLog& log);

  /// Follows the chain of last-satisfied dependencies from the moment before `op` began back to
  /// `until`, calling `visit` with adjoining stretches, latest first.
  void explain_start(std::uint32_t op, simcore::SimTime until,
                     const std::function<void(const Cause&)>& visit) const;
  /// The same for the end of the step: the whole critical path when `until` is the step's begin.
  void explain_end(simcore::SimTime until, const std::function<void(const Cause&)>& visit) const;

  /// When the data of collective `op` began to move: its last member had arrived.
  simcore::SimTime transfer_start(std::uint32_t op) const;

  /// Kernels and collectives of a stream in order.
  std::vector<std::uint32_t> stream_operations(cuda::StreamId stream) const;

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  struct Node {
    std::uint32_t op = none;
    simcore::SimTime time;  ///< when it was complete
  };
  simcore::SimTime issue_time(std::uint32_t op) const;
  void find_optimizer();
  void explain_cpu_at_end(simcore::SimTime from,
                          const std::function<void(const Cause&)>& visit) const;
  void walk(std::uint32_t op, simcore::SimTime at, simcore::SimTime until,
            const std::function<void(const Cause&)>& visit) const;
  simcore::SimTime explain_run(std::uint32_t op, simcore::SimTime at, simcore::SimTime until,
                               const std::function<void(const Cause&)>& visit) const;
  const StepLog& log_;
  /// Of every operation: what its stream (and communicator) was waiting for when it came up.
  std::vector<Node> before_;
  Node last_;                         ///< what ended last in the step
  simcore::SimTime optimizer_begin_;  ///< of the CPU's work on the optimizer; the same as the end
  simcore::SimTime optimizer_end_;    ///< where there is none
  std::vector<std::uint32_t> collective_order_;  ///< position on its communicator
};

}  // namespace shardsim::scenario

// The checks of a run, together: what Simulation switches on when asked to watch its invariants.
//
// The parts say what they hold the run to: flow_check.hpp, collective_check.hpp, runtime_check.hpp
// and allocator_check.hpp. Here, no event lies in the past.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/cuda/runtime.hpp"
#include "models/scenario/checks/allocator_check.hpp"
#include "models/scenario/checks/check_log.hpp"
#include "models/scenario/checks/collective_check.hpp"
#include "models/scenario/checks/flow_check.hpp"
#include "models/scenario/checks/runtime_check.hpp"
#include "models/scenario/experiment.hpp"
#include "simcore/event_queue.hpp"

namespace shardsim::scenario {

class RunChecks {
 public:
  /// All must outlive the checks.
  RunChecks(const Experiment& experiment, network::FlowNetwork& flows, nccl::RingBackend& backend,
            simcore::EventQueue& queue);
  RunChecks(const RunChecks&) = delete;
  RunChecks& operator=(const RunChecks&) = delete;

  void watch(simcore::EventQueue& queue);
  /// Before the runtime is started. `ranks` as it was given them, `communicators` as numbered in
  /// the backend.
  void watch(cuda::Runtime& runtime, const std::vector<cuda::RankSetup>& ranks);

  const std::optional<Violation>& violation() const { return log_.violation(); }
  /// The run has come to its end at `now`, and with it the first `own` ranks.
  void finish(simcore::SimTime now, const cuda::Runtime& runtime, std::size_t own);
  CheckSummary summary(std::uint64_t events) const { return log_.summary(events); }

 private:
  const Experiment& experiment_;
  network::FlowNetwork& flow_network_;
  CheckLog log_;
  FlowCheck flows_;
  CollectiveCheck collectives_;
  std::unique_ptr<RuntimeCheck> runtime_;
  struct Allocator {
    std::uint32_t slot = 0;
    std::unique_ptr<AllocatorCheck> check;
  };
  std::vector<Allocator> allocators_;
  std::vector<AllocatorCheck*> allocator_of_slot_;  ///< null: not watched
};

}  // namespace shardsim::scenario

// Collectives whose times are known: for running some ranks of a run again, alone.
//
// The k-th collective of an instance begins and ends when the record says; a member that arrives
// waits for that. Assumes that members do what they did when the times were recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cuda/collective_backend.hpp"
#include "models/cuda/lockstep_run.hpp"
#include "simcore/event_queue.hpp"

namespace shardsim::cuda {

class ReplayBackend final : public CollectiveBackend, private simcore::EventReceiver {
 public:
  /// `times` of the collectives of the instance that has `members` members. Both references must
  /// outlive the backend.
  ReplayBackend(simcore::EventQueue& queue, const std::vector<CollectiveTimes>& times,
                std::uint32_t members)
      : queue_(queue), times_(times), members_(members) {}

  void attach(CollectiveListener& listener) override { listener_ = &listener; }
  void arrive(std::uint32_t instance, std::uint32_t member, const CollectiveSpec& spec) override;

 private:
  void on_event(const simcore::Event& event) override;

  simcore::EventQueue& queue_;
  const std::vector<CollectiveTimes>& times_;
  const std::uint32_t members_;
  std::uint32_t arrived_ = 0;
  std::size_t current_ = 0;
  CollectiveListener* listener_ = nullptr;
};

}  // namespace shardsim::cuda

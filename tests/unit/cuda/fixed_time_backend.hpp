// A backend for tests of the runtime: every collective takes its prescribed time (1 us without
// one), counted from the arrival of its last member.
#pragma once

#include <vector>

#include "models/cuda/collective_backend.hpp"
#include "simcore/event_queue.hpp"

namespace shardsim::cuda {

class FixedTimeBackend final : public CollectiveBackend, private simcore::EventReceiver {
 public:
  /// `members[i]` members must arrive at instance i.
  FixedTimeBackend(simcore::EventQueue& queue, std::vector<std::uint32_t> members)
      : queue_(queue), members_(std::move(members)), arrived_(members_.size(), 0) {}

  void attach(CollectiveListener& listener) override { listener_ = &listener; }
  void arrive(std::uint32_t instance, std::uint32_t, const CollectiveSpec& spec) override {
    if (++arrived_[instance] < members_[instance]) return;
    arrived_[instance] = 0;
    listener_->collective_began(instance);
    const auto time = spec.fixed_time.value_or(simcore::SimTime::microseconds(1));
    queue_.schedule(queue_.now() + time, *this, 0, instance);
  }

 private:
  void on_event(const simcore::Event& event) override {
    const auto instance = static_cast<std::uint32_t>(event.payload);
    for (std::uint32_t member = 0; member < members_[instance]; ++member) {
      listener_->member_finished(instance, member);
    }
  }

  simcore::EventQueue& queue_;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> arrived_;
  CollectiveListener* listener_ = nullptr;
};

}  // namespace shardsim::cuda

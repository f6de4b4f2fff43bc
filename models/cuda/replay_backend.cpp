#include "models/cuda/replay_backend.hpp"

#include <algorithm>

namespace shardsim::cuda {

namespace {
enum EventKind : std::uint32_t { begin_event, end_event };
}  // namespace

void ReplayBackend::arrive(std::uint32_t instance, std::uint32_t, const CollectiveSpec&) {
  if (++arrived_ < members_) return;
  const CollectiveTimes& times = times_[current_];
  queue_.schedule(std::max(times.begin, queue_.now()), *this, begin_event, instance);
  queue_.schedule(std::max(times.end, queue_.now()), *this, end_event, instance);
}

void ReplayBackend::on_event(const simcore::Event& event) {
  const auto instance = static_cast<std::uint32_t>(event.payload);
  if (event.kind == begin_event) {
    listener_->collective_began(instance);
    return;
  }
  arrived_ = 0;
  ++current_;
  for (std::uint32_t member = 0; member < members_; ++member) {
    listener_->member_finished(instance, member);
  }
}

}  // namespace shardsim::cuda

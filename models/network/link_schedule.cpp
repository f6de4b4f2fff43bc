#include "models/network/link_schedule.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace shardsim::network {

namespace {
// Links change before anything else that happens at the same time.
constexpr std::int32_t change_priority = -1'000'000;
}  // namespace

LinkSchedule::LinkSchedule(std::vector<LinkChange> changes, std::size_t links, FlowNetwork& flows,
                           simcore::EventQueue& queue, LinkChangeListener& listener)
    : changes_(std::move(changes)),
      outages_(links),
      flows_(flows),
      queue_(queue),
      listener_(listener) {
  std::ranges::stable_sort(changes_, {}, &LinkChange::at);
  assert(changes_.empty() || changes_.front().at >= queue.now());
  schedule_next();
}

void LinkSchedule::schedule_next() {
  if (next_ == changes_.size()) return;
  queue_.schedule(changes_[next_].at, *this, 0, 0, change_priority);
}

void LinkSchedule::on_event(const simcore::Event& event) {
  bool told = false;
  for (; next_ < changes_.size() && changes_[next_].at == event.time; ++next_) {
    const LinkChange& change = changes_[next_];
    const bool down = change.bandwidth.bytes_per_second <= 0;
    told |= down != outages_.down(change.link);
    outages_.set(change.link, down);
    flows_.set_bandwidth(change.link, change.bandwidth);
  }
  schedule_next();
  if (told) listener_.outages_changed(outages_);
}

}  // namespace shardsim::network

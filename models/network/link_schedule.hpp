// Links that degrade, fail and come back at given times.
//
// Models: at each time of the schedule the bandwidths change in the flow network at once, before
// anything else that happens then; flows in progress go on at their new rates. A link of bandwidth
// 0 has failed: who owns flows is told once per time, after all changes of that time, and moves
// them to other ways (Graph::ways with the outages, FlowNetwork::move) or gives up. Assumes that
// failures are noticed at once; leaves out time-outs and retransmission.
#pragma once

#include <vector>

#include "models/network/flow_network.hpp"
#include "models/network/graph.hpp"
#include "simcore/event_queue.hpp"

namespace shardsim::network {

struct LinkChange {
  simcore::SimTime at;
  LinkId link = 0;
  simcore::BitRate bandwidth;  ///< from then on; 0: the link has failed
};

class LinkChangeListener {
 public:
  virtual ~LinkChangeListener() = default;
  /// Links have failed or come back; a mere change of bandwidth is not told.
  virtual void outages_changed(const LinkOutages& outages) = 0;
};

class LinkSchedule final : private simcore::EventReceiver {
 public:
  /// `changes` in any order, none before the queue's present time; of two for one link and time the
  /// later one in the list holds. All must outlive the schedule.
  LinkSchedule(std::vector<LinkChange> changes, std::size_t links, FlowNetwork& flows,
               simcore::EventQueue& queue, LinkChangeListener& listener);

  const LinkOutages& outages() const { return outages_; }

 private:
  void on_event(const simcore::Event& event) override;
  void schedule_next();

  std::vector<LinkChange> changes_;  ///< by time
  std::size_t next_ = 0;
  LinkOutages outages_;
  FlowNetwork& flows_;
  simcore::EventQueue& queue_;
  LinkChangeListener& listener_;
};

}  // namespace shardsim::network

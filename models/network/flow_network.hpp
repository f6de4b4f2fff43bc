// Flows sharing links max-min fairly.
//
// Models: a flow is a fluid of `bytes` moving at one rate along a set of links; on link l it takes
// weight(l) times its rate. A pipelined collective is one such coupled flow over every link of its
// rings. Rates are max-min fair: all flows grow together until a link is full, flows through it
// freeze, the others go on; a flow's own cap acts as a private link. Assumes that rates adapt at
// once. Leaves out packets, queues and losses.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/network/graph.hpp"
#include "simcore/event_queue.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::network {

struct LinkUse {
  LinkId link = 0;
  double weight = 1;  ///< bytes on the link per byte of the flow, > 0
};

using FlowId = std::uint32_t;

class FlowListener {
 public:
  virtual ~FlowListener() = default;
  /// All bytes of the flow have been moved; `token` is what start() was given.
  virtual void flow_finished(FlowId flow, std::uint64_t token) = 0;
};

struct LinkStatistics {
  double bytes = 0;             ///< carried since the last reset
  simcore::SimTime busy;        ///< time with at least one flow
  double peak_share = 0;        ///< largest share of the bandwidth in use at any time, 0..1
};

class FlowNetwork {
 public:
  /// `graph` and `queue` must outlive the network.
  FlowNetwork(const Graph& graph, simcore::EventQueue& queue);
  ~FlowNetwork();

  /// Starts a flow now. `uses` names each link once; `cap` limits the flow's own rate (0: none).
  /// A flow without links and cap, or of 0 bytes, finishes at the present time, by an event.
  FlowId start(std::span<const LinkUse> uses, double bytes, simcore::BitRate cap,
               FlowListener& listener, std::uint64_t token);
  /// Present rate of a running flow.
  simcore::BitRate rate(FlowId flow) const;
  /// Changes a link's bandwidth now (degraded, failed: 0, repaired).
  void set_bandwidth(LinkId link, simcore::BitRate bandwidth);

  LinkStatistics statistics(LinkId link) const;
  /// Starts counting anew; flows in progress count from now.
  void reset_statistics();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardsim::network

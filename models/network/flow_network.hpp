// Flows sharing links max-min fairly.
//
// Models: a flow is a fluid of `bytes` moving at one rate along a set of links; on link l it takes
// weight(l) times its rate. A pipelined collective is one such coupled flow over every link of its
// rings. Rates are max-min fair: all flows grow together until a link is full, flows through it
// freeze, the others go on; a flow's own cap acts as a private link. Assumes that rates adapt at
// once. Leaves out packets, queues and losses.
//
// Rates are found once for each instant at which anything changed, after its other events, and
// only for flows and links that the change reaches (max_min_solver.hpp). A flow ends at the
// picosecond nearest to the moment at which its last byte has moved; progress is kept in doubles
// with a relative error of a few 2^-53 of the bytes moved, so a flow whose rate never changes ends
// at exactly its start + round(bytes / rate). Flows that end in the same picosecond are reported
// in the order in which they started.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "models/network/graph.hpp"
#include "simcore/event_queue.hpp"
#include "simcore/probe.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::network {

/// Valid until the flow has finished; then it may name another one.
using FlowId = std::uint32_t;
/// A set of links known to the network.
using LinkSetId = std::uint32_t;

class FlowListener {
 public:
  virtual ~FlowListener() = default;
  /// All bytes of the flow have been moved; `token` is what start() was given.
  virtual void flow_finished(FlowId flow, std::uint64_t token) = 0;
};

struct LinkStatistics {
  double bytes = 0;       ///< carried since the last reset
  simcore::SimTime busy;  ///< time with at least one flow
  double peak_share = 0;  ///< largest share of the bandwidth in use at any time, 0..1
};

/// How much work the network has done; the measure of how incremental it is.
struct FlowCounters {
  std::uint64_t flows = 0;           ///< finished
  std::uint64_t solves = 0;          ///< instants at which rates were found
  std::uint64_t rates_solved = 0;    ///< rates found in them, equal flows counted once
  std::uint64_t classes_solved = 0;  ///< classes of links looked at in them
};

/// A flow that begins, or goes on over other links, with what it has to move over them.
struct FlowRecord {
  FlowId flow = 0;
  std::uint64_t token = 0;
  double bytes = 0;
  simcore::BitRate cap;            ///< 0: none
  std::span<const LinkUse> links;  ///< valid while the listener is called
};

class FlowNetwork {
 public:
  /// `graph` and `queue` must outlive the network; the graph's links must not change.
  FlowNetwork(const Graph& graph, simcore::EventQueue& queue);
  ~FlowNetwork();

  /// Makes a set known for good, so that starting flows over it costs nothing per link. `uses`
  /// names each link once. Equal sets get equal ids.
  LinkSetId add_link_set(std::span<const LinkUse> uses);

  /// Starts a flow now. `uses` names each link once; `cap` limits the flow's own rate (0: none).
  /// A flow without links and cap, or of 0 bytes, finishes at the present time, by an event.
  FlowId start(std::span<const LinkUse> uses, double bytes, simcore::BitRate cap,
               FlowListener& listener, std::uint64_t token);
  FlowId start(LinkSetId set, double bytes, simcore::BitRate cap, FlowListener& listener,
               std::uint64_t token);
  /// A running flow goes on over another set of links with the bytes that it has left; its name,
  /// cap and listener stay. Without links and cap it ends at the present time, by an event.
  void move(FlowId flow, LinkSetId set);
  void move(FlowId flow, std::span<const LinkUse> uses);
  /// Bytes that a running flow has still to move.
  double bytes_left(FlowId flow) const;
  /// Present rate of a running flow; 0 while a link of it has no bandwidth.
  simcore::BitRate rate(FlowId flow) const;
  /// Changes a link's bandwidth now (degraded, failed: 0, repaired).
  void set_bandwidth(LinkId link, simcore::BitRate bandwidth);
  simcore::BitRate bandwidth(LinkId link) const;

  LinkStatistics statistics(LinkId link) const;
  /// Starts counting anew; flows in progress count from now.
  void reset_statistics();
  FlowCounters counters() const;

  // A flow's end is told before its owner hears of it. Rates hold from rates_found to rates_found.
  simcore::Probe<FlowRecord> flow_started;
  simcore::Probe<FlowRecord> flow_moved;
  simcore::Probe<FlowId> flow_ended;
  simcore::Probe<> rates_found;
  simcore::Probe<LinkId, simcore::BitRate> bandwidth_changed;
  simcore::Probe<> statistics_begun;  ///< anew

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace shardsim::network

// Watches the flows of a network: what they move, and what they take of links.
//
// Keeps its own account of every flow by adding up rate times time, and of every link by adding up
// its flows. Holds the network to: a flow ends when it has moved its bytes, neither more nor fewer;
// the flows through a link never take more than it has, nor a flow more than its cap; a link has
// carried what its flows have moved. The network's times are whole picoseconds, so that a flow may
// be off by what it moves in one.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/network/flow_network.hpp"
#include "models/network/graph.hpp"
#include "models/scenario/checks/check_log.hpp"

namespace shardsim::scenario {

class FlowCheck {
 public:
  /// Both must outlive the check.
  FlowCheck(const network::Graph& graph, CheckLog& log);

  /// All that follows is called by what the network tells. Both must outlive the check.
  void listen(network::FlowNetwork& flows, const simcore::EventQueue& queue);

  void started(simcore::SimTime now, const network::FlowRecord& record);
  void moved(simcore::SimTime now, const network::FlowRecord& record);
  void ended(simcore::SimTime now, network::FlowId flow);
  /// `rate_of`: bytes/s from now on.
  void rates_found(simcore::SimTime now, const std::function<double(network::FlowId)>& rate_of);
  void bandwidth_changed(network::LinkId link, double bandwidth);
  void statistics_begun(simcore::SimTime now);

  /// The links' own figures against the account.
  void compare(simcore::SimTime now, const network::FlowNetwork& flows);
  void compare_link(simcore::SimTime now, network::LinkId link, double bytes);
  /// No flow is left.
  void all_ended(simcore::SimTime now);
  std::size_t running() const { return running_.size(); }

 private:
  struct Account {
    std::vector<network::LinkUse> links;
    std::uint64_t token = 0;
    double offered = 0;
    double moved = 0;      ///< over these links
    double counted = 0;    ///< of it, in the links' account
    double rate = 0;       ///< bytes/s since `since`
    double most_rate = 0;  ///< ever
    double cap = 0;
    int changes = 0;  ///< of the rate
    simcore::SimTime since;
  };
  void settle(simcore::SimTime now, Account& account);
  void credit_links(Account& account);
  bool complete(const Account& account) const;
  void expect_complete(simcore::SimTime now, const Account& account);
  void check_links(simcore::SimTime now);

  const network::Graph& graph_;
  CheckLog& log_;
  std::vector<Account> accounts_;         ///< by flow
  std::vector<network::FlowId> running_;  ///< in the order of their start
  std::vector<double> bandwidth_;         ///< by link, bytes/s
  std::vector<double> carried_;           ///< by link, since the statistics began
  std::vector<double> slack_;             ///< by link: what rounding to picoseconds may add
  bool bandwidths_changed_ = false;       ///< since rates were found
  std::vector<double> load_;              ///< scratch, by link
  std::vector<network::LinkId> loaded_;   ///< scratch
};

}  // namespace shardsim::scenario

// What a communicator's data movement looks like on the cluster, pattern by pattern.
//
// All groups of the communicator are in one flow: they move in lockstep, as fast as the slowest of
// them. Patterns other than the ring are worked out when they are first asked for.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "models/nccl/communicator.hpp"
#include "models/nccl/planner.hpp"
#include "models/nccl/ring_plan.hpp"
#include "models/nccl/traffic.hpp"
#include "models/network/graph.hpp"

namespace shardsim::nccl {

enum class Pattern : std::uint8_t {
  ring,        ///< a byte of the flow crosses every hop of every ring, in the rings' shares
  from_first,  ///< the same without the hop that closes the ring at the group's first rank
  to_first,    ///< without the hop that opens it there
  neighbours,  ///< each rank sends the flow's bytes to the next of the group
  all_pairs,   ///< each rank sends the flow's bytes to every other rank
  multicast,   ///< an all-reduce of the flow's bytes inside NVLink switches
  gather,      ///< an all-gather of the flow's bytes by NVLink switches that multicast
  scatter,     ///< a reduce-scatter of the flow's bytes by NVLink switches that add
  trees,       ///< an all-reduce of the flow's bytes over chains in nodes, two trees between them
  multicast_trees,  ///< the same with NVLink switches in place of chains
};
inline constexpr std::size_t pattern_count = 10;

class CommunicatorPlan {
 public:
  /// `graph` must outlive the plan.
  /// `outages`: links to go around, as they are when a pattern is worked out; null: none.
  static std::expected<CommunicatorPlan, NoRoute> make(
      const network::Graph& graph, const CommunicatorSpec& spec,
      const network::LinkOutages* outages = nullptr);

  /// The same without a look at whether the ranks have routes: `traffic` says so when asked.
  /// `ring` needs `traffic(Pattern::ring)` before.
  static CommunicatorPlan outline(const network::Graph& graph, const CommunicatorSpec& spec,
                                  const network::LinkOutages* outages = nullptr);

  // The shape of the first group, which those of the others equal.
  int ranks() const { return static_cast<int>(spec_.groups.front().size()); }
  int nodes() const { return static_cast<int>(domains_.front().size()); }
  /// Rings in general, whether or not this follows NCCL's channels.
  const RingPlan& ring_plan() const { return rings_of(0); }
  const network::Graph& graph() const { return *graph_; }
  std::span<const Domain> domains() const { return domains_.front(); }
  /// All GPUs of a group are on one NVLink switch.
  bool on_nvswitch() const { return on_nvswitch_; }
  /// All GPUs of each node are.
  bool on_nvswitches() const { return on_nvswitches_; }

  /// From now on rings and trees are the channels that NCCL finds for each group; traffic asked for
  /// before is no longer valid. Without effect if one of the groups has no plan. The planner must
  /// outlive this.
  void follow(const Planner& planner);
  /// Follows what `other` follows, if anything.
  void follow_as(const CommunicatorPlan& other) {
    if (other.followed_ != nullptr) follow(*other.followed_);
  }

  /// The pattern's traffic. References stay valid as long as the plan.
  const Traffic& ring() const { return *traffic_[0]; }
  std::expected<const Traffic*, NoRoute> traffic(Pattern pattern);
  /// Which pattern this plan's `traffic` is of.
  std::optional<Pattern> pattern_of(const Traffic& traffic) const;

 private:
  CommunicatorPlan(const network::Graph& graph, const CommunicatorSpec& spec,
                   const network::LinkOutages* outages);
  const RingPlan& rings_of(std::size_t group) const;
  std::expected<Traffic, NoRoute> build(Pattern pattern) const;
  std::optional<NoRoute> add_rings(TrafficBuilder& builder, std::size_t group,
                                   Pattern pattern) const;
  std::optional<NoRoute> add_messages(TrafficBuilder& builder, std::size_t group,
                                      std::size_t peers) const;
  void add_multicast(TrafficBuilder& builder, std::size_t group, Pattern pattern) const;
  std::optional<NoRoute> add_trees(TrafficBuilder& builder, std::size_t group) const;
  std::optional<NoRoute> add_chains(TrafficBuilder& builder, std::size_t group) const;
  std::optional<NoRoute> add_channels(TrafficBuilder& builder, std::size_t group,
                                      Pattern pattern) const;

  const network::Graph* graph_;
  const network::LinkOutages* outages_;
  CommunicatorSpec spec_;
  std::vector<std::vector<Domain>> domains_;  ///< by group
  /// By group; worked out when asked for, since they are large and NCCL's channels do without.
  mutable std::vector<std::optional<RingPlan>> rings_;
  const Planner* followed_ = nullptr;
  std::vector<const PlannedCommunicator*> planned_;  ///< by group; empty: rings in general
  bool on_nvswitch_ = false;
  bool on_nvswitches_ = false;
  std::array<std::unique_ptr<Traffic>, pattern_count> traffic_;
};

}  // namespace shardsim::nccl

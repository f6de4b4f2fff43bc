#include "models/nccl/communicator_plan.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "models/nccl/channel_hops.hpp"

namespace shardsim::nccl {

using network::Graph;
using network::VertexId;

namespace {

/// Where the ranks of a group are, for messages between any two of them.
class Places {
 public:
  /// With `channels` only NICs that NCCL's plan knows are used. `changes_rail`: PXN is used.
  Places(const Graph& graph, const std::vector<Domain>& domains, const ChannelHops* channels,
         bool changes_rail)
      : graph_(graph), changes_rail_(changes_rail) {
    for (std::size_t d = 0; d < domains.size(); ++d) {
      const std::vector<VertexId> known =
          channels != nullptr ? channels->nics(static_cast<int>(d)) : std::vector<VertexId>{};
      for (std::size_t i = 0; i < domains[d].ranks.size(); ++i) {
        const int rank = domains[d].ranks[i];
        std::vector<VertexId> nics = domains[d].nics[i];
        std::erase_if(nics, [&known](VertexId nic) {
          return !known.empty() && std::ranges::find(known, nic) == known.end();
        });
        if (nics.empty() && !known.empty()) nics.push_back(known[i % known.size()]);
        Place& place = places_[rank];
        place.domain = d;
        place.local = static_cast<int>(i);
        for (const VertexId nic : nics) {
          rails_.try_emplace(Rail{graph.node_of(rank), graph.vertices()[nic].index}, rank);
        }
        place.nics = std::move(nics);
      }
    }
  }

  int domain(int rank) const { return static_cast<int>(places_.at(rank).domain); }
  int local(int rank) const { return places_.at(rank).local; }
  bool apart(int a, int b) const { return places_.at(a).domain != places_.at(b).domain; }

  /// By how many NICs a message comes to a rank: its parts are dealt out over them.
  std::size_t ways(int to) const { return std::max<std::size_t>(1, places_.at(to).nics.size()); }

  /// The devices that a message passes. Between nodes it leaves by the NIC of the receiver's rail
  /// if the GPU beside that can be reached by NVLink (NCCL's PXN), else by the sender's own.
  std::vector<VertexId> chain(int from, int to, std::size_t way) const {
    std::vector<VertexId> devices{graph_.gpu(from)};
    if (const auto& in = places_.at(to).nics; apart(from, to) && !in.empty()) {
      const int via = rank_on_rail(from, in[way]);
      if (const auto& out = places_.at(via).nics; !out.empty()) {
        devices.insert(devices.end(), {graph_.gpu(via), same_rail(out, in[way], way), in[way]});
      }
    }
    devices.push_back(graph_.gpu(to));
    return devices;
  }

 private:
  struct Place {
    std::size_t domain = 0;
    int local = 0;
    std::vector<VertexId> nics;
  };
  using Rail = std::pair<int, std::int32_t>;  ///< host, index of its NIC

  VertexId same_rail(const std::vector<VertexId>& nics, VertexId other, std::size_t way) const {
    const auto found = std::ranges::find_if(nics, [this, other](VertexId nic) {
      return graph_.vertices()[nic].index == graph_.vertices()[other].index;
    });
    return found == nics.end() ? nics[way % nics.size()] : *found;
  }

  int rank_on_rail(int sender, VertexId to_nic) const {
    const auto found = rails_.find(Rail{graph_.node_of(sender), graph_.vertices()[to_nic].index});
    if (!changes_rail_ || found == rails_.end()) return sender;
    const int rank = found->second;
    const bool by_switch = nvswitch_of(graph_, sender) && !apart(sender, rank);
    const bool direct = graph_.find_link(graph_.gpu(sender), graph_.gpu(rank)).has_value();
    return by_switch || direct ? rank : sender;
  }

  const Graph& graph_;
  bool changes_rail_;
  std::map<int, Place> places_;
  std::map<Rail, int> rails_;
};

}  // namespace

CommunicatorPlan::CommunicatorPlan(const Graph& graph, const CommunicatorSpec& spec,
                                   const network::LinkOutages* outages)
    : graph_(&graph), outages_(outages), spec_(spec), on_nvswitch_(true), on_nvswitches_(true) {
  assert(!spec.groups.empty());
  for (const std::vector<int>& group : spec.groups) {
    assert(!group.empty());
    domains_.push_back(find_domains(graph, group));
    for (const Domain& domain : domains_.back()) on_nvswitches_ &= domain.nvswitch.has_value();
    on_nvswitch_ &= on_nvswitches_ && domains_.back().size() == 1;
  }
  rings_.resize(domains_.size());
}

const RingPlan& CommunicatorPlan::rings_of(std::size_t group) const {
  if (!rings_[group]) rings_[group] = plan_rings(*graph_, domains_[group]);
  return *rings_[group];
}

std::optional<Pattern> CommunicatorPlan::pattern_of(const Traffic& traffic) const {
  for (std::size_t pattern = 0; pattern < pattern_count; ++pattern) {
    if (traffic_[pattern].get() == &traffic) return static_cast<Pattern>(pattern);
  }
  return std::nullopt;
}

std::expected<CommunicatorPlan, NoRoute> CommunicatorPlan::make(
    const Graph& graph, const CommunicatorSpec& spec, const network::LinkOutages* outages) {
  CommunicatorPlan plan = outline(graph, spec, outages);
  if (const auto ring = plan.traffic(Pattern::ring); !ring) return std::unexpected(ring.error());
  return plan;
}

CommunicatorPlan CommunicatorPlan::outline(const Graph& graph, const CommunicatorSpec& spec,
                                           const network::LinkOutages* outages) {
  return {graph, spec, outages};
}

std::expected<const Traffic*, NoRoute> CommunicatorPlan::traffic(Pattern pattern) {
  auto& known = traffic_[static_cast<std::size_t>(pattern)];
  if (!known) {
    auto made = build(pattern);
    if (!made) return std::unexpected(std::move(made.error()));
    known = std::make_unique<Traffic>(std::move(*made));
  }
  return known.get();
}

void CommunicatorPlan::follow(const Planner& planner) {
  if (followed_ == &planner) return;
  followed_ = &planner;
  for (auto& known : traffic_) known.reset();
  planned_.clear();
  for (const std::vector<Domain>& domains : domains_) {
    const auto shape = shape_of(*graph_, domains);
    const auto plan = shape ? planner.plan(*shape) : std::unexpected(std::string());
    if (!plan) {
      planned_.clear();
      return;
    }
    planned_.push_back(*plan);
  }
}

std::optional<NoRoute> CommunicatorPlan::add_channels(TrafficBuilder& builder, std::size_t group,
                                                      Pattern pattern) const {
  const ChannelHops channels(*graph_, domains_[group], *planned_[group]);
  const bool ring = pattern != Pattern::trees && pattern != Pattern::multicast_trees;
  const int root = spec_.groups[group].front();
  std::optional<NoRoute> failed;
  const HopVisitor add = [&](const Hop& hop, double share) {
    if (pattern == Pattern::from_first && hop.to_rank == root) return true;
    if (pattern == Pattern::to_first && hop.from_rank == root) return true;
    if (!builder.add(hop, share)) failed = NoRoute{spec_.role, hop.from_rank, hop.to_rank};
    return !failed;
  };
  if (ring) {
    channels.rings(add);
  } else if (pattern == Pattern::trees) {
    channels.trees(add);
  } else {
    channels.nvls_trees(add);
  }
  return failed;
}

std::expected<Traffic, NoRoute> CommunicatorPlan::build(Pattern pattern) const {
  TrafficBuilder builder(*graph_, outages_, planned_.empty() ? 1 : planned_.front()->queue_pairs);
  for (std::size_t group = 0; group < domains_.size(); ++group) {
    std::optional<NoRoute> failed;
    switch (pattern) {
      case Pattern::ring:
      case Pattern::from_first:
      case Pattern::to_first:
        failed = !planned_.empty() ? add_channels(builder, group, pattern)
                                   : add_rings(builder, group, pattern);
        break;
      case Pattern::neighbours:
        failed = add_messages(builder, group, 1);
        break;
      case Pattern::all_pairs:
        failed = add_messages(builder, group, spec_.groups[group].size());
        break;
      case Pattern::multicast:
      case Pattern::gather:
      case Pattern::scatter:
        add_multicast(builder, group, pattern);
        break;
      case Pattern::trees:
        if (!planned_.empty()) {
          failed = add_channels(builder, group, pattern);
          break;
        }
        failed = add_chains(builder, group);
        if (!failed) failed = add_trees(builder, group);
        break;
      case Pattern::multicast_trees:
        add_multicast(builder, group, Pattern::multicast);
        failed =
            !planned_.empty() ? add_channels(builder, group, pattern) : add_trees(builder, group);
        break;
    }
    if (failed) return std::unexpected(std::move(*failed));
  }
  return builder.finish();
}

std::optional<NoRoute> CommunicatorPlan::add_rings(TrafficBuilder& builder, std::size_t group,
                                                   Pattern pattern) const {
  const int root = spec_.groups[group].front();
  const std::vector<Ring>& rings = rings_of(group).rings;
  const double share = 1.0 / static_cast<double>(rings.size());
  for (const Ring& ring : rings) {
    for (const Hop& hop : ring.hops) {
      if (pattern == Pattern::from_first && hop.to_rank == root) continue;
      if (pattern == Pattern::to_first && hop.from_rank == root) continue;
      if (!builder.add(hop, share)) return NoRoute{spec_.role, hop.from_rank, hop.to_rank};
    }
  }
  return std::nullopt;
}

std::optional<NoRoute> CommunicatorPlan::add_messages(TrafficBuilder& builder, std::size_t group,
                                                      std::size_t peers) const {
  const std::vector<int>& ranks = spec_.groups[group];
  std::optional<ChannelHops> channels;
  if (!planned_.empty()) channels.emplace(*graph_, domains_[group], *planned_[group]);
  const Places places(*graph_, domains_[group], channels ? &*channels : nullptr,
                      planned_.empty() || planned_[group]->messages_change_rail);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    for (std::size_t step = 1; step <= std::min(peers, ranks.size() - 1); ++step) {
      const int from = ranks[i];
      const int to = ranks[(i + step) % ranks.size()];
      const bool apart = places.apart(from, to);
      if (channels && !apart) {
        const Hop hop = channels->inside(places.domain(from), places.local(from), places.local(to));
        if (!builder.add(hop, 1)) return NoRoute{spec_.role, from, to};
        continue;
      }
      const std::size_t ways = apart ? places.ways(to) : 1;
      for (std::size_t way = 0; way < ways; ++way) {
        if (!builder.add_chain(places.chain(from, to, way), apart, 1 / static_cast<double>(ways))) {
          return NoRoute{spec_.role, from, to};
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace shardsim::nccl

// Sets of links, each stored once: flows that name equal links find each other here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/network/flow_network.hpp"
#include "models/network/sharing_graph.hpp"
#include "models/network/span_pool.hpp"

namespace shardsim::network {

struct LinkSet {
  PoolSpan links;    ///< of LinkUse, as given
  PoolSpan classes;  ///< the same in terms of link classes
  std::uint64_t hash = 0;
  std::uint32_t next = none;         ///< in the same hash bucket
  VariableId first_variable = none;  ///< chained through the variables
  std::uint32_t variables = 0;
  bool kept = false;  ///< stays without variables
};

class LinkSets {
 public:
  explicit LinkSets(SharingGraph& graph) : graph_(graph) {}

  /// The set naming these links with these weights in this order; new if there is none.
  LinkSetId intern(std::span<const LinkUse> links);
  /// Drops the set unless it is kept or has variables.
  void release_unused(LinkSetId id);

  LinkSet& at(LinkSetId id) { return sets_[id]; }
  const LinkSet& at(LinkSetId id) const { return sets_[id]; }
  std::span<const LinkUse> links(LinkSetId id) const { return links_.view(sets_[id].links); }

 private:
  LinkSetId find(std::span<const LinkUse> links, std::uint64_t hash) const;
  std::uint32_t& bucket(std::uint64_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  void rehash(std::size_t size);

  SharingGraph& graph_;
  std::vector<LinkSet> sets_;
  std::vector<LinkSetId> free_;
  std::size_t used_ = 0;
  std::vector<std::uint32_t> buckets_;  ///< a power of two of them, or none
  SpanPool<LinkUse> links_;
};

}  // namespace shardsim::network

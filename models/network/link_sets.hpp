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
  PoolSpan links;                    ///< of LinkUse, as given
  PoolSpan classes;                  ///< the same in terms of link classes
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

  /// Asks for the memory that release_unused() reads.
  void fetch(LinkSetId id) const {
    __builtin_prefetch(&sets_[id], 1);
    __builtin_prefetch(&buckets_[chains_[id].hash & (buckets_.size() - 1)], 1);
  }

  LinkSet& at(LinkSetId id) { return sets_[id]; }
  const LinkSet& at(LinkSetId id) const { return sets_[id]; }
  std::span<const LinkUse> links(LinkSetId id) const { return links_.view(sets_[id].links); }

 private:
  LinkSetId find(std::span<const LinkUse> links, std::uint32_t hash) const;
  LinkSetId& bucket(std::uint32_t hash) { return buckets_[hash & (buckets_.size() - 1)]; }
  void rehash(std::size_t size);

  SharingGraph& graph_;
  /// What looking for a set reads, apart from the rest.
  struct Chain {
    std::uint32_t hash = 0;
    LinkSetId next = none;  ///< in the same bucket
  };

  LargeArray<LinkSet> sets_;
  LargeArray<Chain> chains_;  ///< by set
  LargeArray<LinkSetId> free_;
  std::size_t used_ = 0;
  LargeArray<LinkSetId> buckets_;  ///< a power of two of them, or none
  LargePool<LinkUse> links_;
};

}  // namespace shardsim::network

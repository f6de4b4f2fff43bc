#include "models/network/link_sets.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace shardsim::network {

namespace {

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;  // 2^64 / golden ratio
  return hash ^ (hash >> 29);
}

std::uint32_t hash_of(std::span<const LinkUse> links) {
  std::uint64_t hash = links.size();
  for (const LinkUse& use : links) {
    hash = mix(mix(hash, use.link), std::bit_cast<std::uint64_t>(use.weight));
  }
  return static_cast<std::uint32_t>(hash >> 32U);
}

}  // namespace

LinkSetId LinkSets::find(std::span<const LinkUse> links, std::uint32_t hash) const {
  if (buckets_.empty()) return none;
  LinkSetId id = buckets_[hash & (buckets_.size() - 1)];
  for (; id != none; id = chains_[id].next) {
    if (chains_[id].hash == hash && std::ranges::equal(links_.view(sets_[id].links), links,
                                                       [](const LinkUse& a, const LinkUse& b) {
                                                         return a.link == b.link &&
                                                                a.weight == b.weight;
                                                       })) {
      return id;
    }
  }
  return none;
}

void LinkSets::rehash(std::size_t size) {
  const LargeArray<LinkSetId> old = std::exchange(buckets_, {});
  buckets_.assign(size, none);
  for (LinkSetId id : old) {
    while (id != none) {
      const LinkSetId next = std::exchange(chains_[id].next, bucket(chains_[id].hash));
      bucket(chains_[id].hash) = id;
      id = next;
    }
  }
}

LinkSetId LinkSets::intern(std::span<const LinkUse> links) {
  const std::uint32_t hash = hash_of(links);
  if (const LinkSetId id = find(links, hash); id != none) return id;
  if (2 * used_ >= buckets_.size()) rehash(std::max<std::size_t>(16, 2 * buckets_.size()));
  LinkSetId id = 0;
  if (free_.empty()) {
    id = static_cast<LinkSetId>(sets_.size());
    sets_.emplace_back();
    chains_.emplace_back();
  } else {
    id = free_.back();
    free_.pop_back();
  }
  ++used_;
  LinkSet& set = sets_[id];
  set = LinkSet{};
  chains_[id] = Chain{hash, std::exchange(bucket(hash), id)};
  links_.reserve(set.links, static_cast<std::uint32_t>(links.size()));
  for (const LinkUse& use : links) links_.push_back(set.links, use);
  graph_.classify(links, set.classes);
  return id;
}

void LinkSets::release_unused(LinkSetId id) {
  LinkSet& set = sets_[id];
  if (set.kept || set.variables > 0) return;
  LinkSetId* slot = &bucket(chains_[id].hash);
  while (*slot != id) slot = &chains_[*slot].next;
  *slot = chains_[id].next;
  links_.release(set.links);
  graph_.release_set(set.classes);
  free_.push_back(id);
  --used_;
}

}  // namespace shardsim::network

#include "models/scenario/rank_layout.hpp"

#include <algorithm>
#include <utility>

namespace shardsim::scenario {

namespace {

/// `count` groups: group g holds first(g), first(g) + stride, ...
template <class First>
std::vector<std::vector<int>> make_groups(std::int64_t count, std::int64_t size,
                                          std::int64_t stride, First first) {
  std::vector<std::vector<int>> groups(static_cast<std::size_t>(count));
  for (std::int64_t g = 0; g < count; ++g) {
    for (std::int64_t i = 0; i < size; ++i) {
      groups[static_cast<std::size_t>(g)].push_back(static_cast<int>(first(g) + i * stride));
    }
  }
  return groups;
}

}  // namespace

std::vector<std::vector<int>> groups_of_role(const std::string& role,
                                             const training::GroupSizes& sizes,
                                             std::int64_t reshard) {
  if (role == "shard" || role == "reduce_scatter") {
    return make_groups(sizes.replicas, sizes.shard, 1,
                       [&](std::int64_t g) { return g * sizes.shard; });
  }
  if (role == "repl") {
    return make_groups(sizes.shard, sizes.replicas, sizes.shard, [](std::int64_t g) { return g; });
  }
  if (role == "reshard" && reshard > 0) {
    return make_groups(sizes.world / reshard, reshard, 1,
                       [&](std::int64_t g) { return g * reshard; });
  }
  return make_groups(1, sizes.world, 1, [](std::int64_t) { return 0; });
}

namespace {

/// The groups of one class as one communicator.
nccl::CommunicatorSpec unite(const std::string& role, const std::vector<std::vector<int>>& groups,
                             const std::vector<Colour>& classes, Colour wanted,
                             const std::vector<int>& gpus) {
  nccl::CommunicatorSpec spec{role, {}, 0, {}};
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (classes[g] != wanted) continue;
    auto& group = spec.groups.emplace_back();
    for (const int rank : groups[g]) group.push_back(gpus[static_cast<std::size_t>(rank)]);
  }
  return spec;
}

}  // namespace

RankLayout lay_out_ranks(const std::vector<std::string>& roles,
                         const std::vector<std::vector<std::vector<int>>>& groups,
                         const RankClasses& classes, const std::vector<int>& gpus) {
  RankLayout layout;
  layout.slot_of_rank = classes.ranks;
  for (std::size_t rank = 0; rank < classes.ranks.size(); ++rank) {
    if (classes.ranks[rank] == layout.ranks.size()) layout.ranks.push_back(static_cast<int>(rank));
  }
  layout.classes = static_cast<int>(layout.ranks.size());
  layout.memberships.resize(layout.ranks.size());
  for (std::size_t id = 0; id < roles.size(); ++id) {
    std::vector<std::uint32_t> instance_of(groups[id].size(), UINT32_MAX);  // by class
    std::vector<bool> placed(layout.ranks.size(), false);
    for (std::size_t g = 0; g < groups[id].size(); ++g) {
      std::uint32_t& instance = instance_of[classes.groups[id][g]];
      if (instance != UINT32_MAX) continue;
      instance = static_cast<std::uint32_t>(layout.communicators.size());
      auto spec = unite(roles[id], groups[id], classes.groups[id], classes.groups[id][g], gpus);
      // The members that arrive are the classes found in each of the groups.
      for (const int rank : groups[id][g]) {
        const std::uint32_t slot = classes.ranks[static_cast<std::size_t>(rank)];
        if (placed[slot]) continue;
        placed[slot] = true;
        layout.memberships[slot].push_back(cuda::Membership{instance, spec.members++});
        spec.member_ranks.push_back(layout.ranks[slot]);
      }
      layout.communicators.push_back(std::move(spec));
    }
  }
  return layout;
}

}  // namespace shardsim::scenario

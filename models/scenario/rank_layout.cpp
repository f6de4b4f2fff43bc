#include "models/scenario/rank_layout.hpp"

#include <algorithm>
#include <map>

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

bool groups_lie_alike(const std::vector<std::vector<int>>& groups, std::int64_t gpus_per_node) {
  // How many of a group's ranks each of its nodes holds, in the group's order.
  const auto pattern = [gpus_per_node](const std::vector<int>& group) {
    std::vector<std::int64_t> counts;
    std::int64_t node = -1;
    for (const int rank : group) {
      const std::int64_t here = rank / gpus_per_node;
      if (here != node) counts.push_back(0);
      node = here;
      ++counts.back();
    }
    return counts;
  };
  const auto first = pattern(groups.front());
  return std::all_of(groups.begin(), groups.end(),
                     [&](const std::vector<int>& group) { return pattern(group) == first; }) &&
         std::adjacent_find(first.begin(), first.end(), std::not_equal_to<>()) == first.end();
}

RankLayout lay_out_ranks(const std::vector<std::string>& roles, const training::GroupSizes& sizes,
                         std::int64_t reshard, std::int64_t gpus_per_node, bool equal_gpus,
                         bool every_rank) {
  std::vector<std::vector<std::vector<int>>> groups;
  for (const std::string& role : roles) {
    groups.push_back(groups_of_role(role, sizes, reshard));
    if (!groups_lie_alike(groups.back(), gpus_per_node)) every_rank = true;
    if (!equal_gpus && groups.back().size() > 1) every_rank = true;
  }
  RankLayout layout;
  const int simulated = every_rank ? static_cast<int>(sizes.world) : 1;
  layout.classes = simulated;
  for (int rank = 0; rank < simulated; ++rank) layout.ranks.push_back(rank);
  layout.memberships.resize(layout.ranks.size());
  for (std::size_t id = 0; id < roles.size(); ++id) {
    if (!every_rank) {
      const auto instance = static_cast<std::uint32_t>(layout.communicators.size());
      layout.communicators.push_back(nccl::CommunicatorSpec{roles[id], groups[id], 1});
      layout.memberships[0].push_back(cuda::Membership{instance, 0});
      continue;
    }
    for (const std::vector<int>& group : groups[id]) {
      const auto instance = static_cast<std::uint32_t>(layout.communicators.size());
      layout.communicators.push_back(
          nccl::CommunicatorSpec{roles[id], {group}, static_cast<std::uint32_t>(group.size())});
      for (std::uint32_t member = 0; member < group.size(); ++member) {
        layout.memberships[static_cast<std::size_t>(group[member])].push_back(
            cuda::Membership{instance, member});
      }
    }
  }
  return layout;
}

}  // namespace shardsim::scenario

// Which ranks are simulated, and which communicators they are in.
//
// One rank of each class (rank_classes.hpp) is simulated and stands for all of it: its
// communicators carry out, in lockstep, the collectives of all groups of their class.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cuda/runtime.hpp"
#include "models/nccl/communicator.hpp"
#include "models/scenario/rank_classes.hpp"
#include "models/training/training_spec.hpp"

namespace shardsim::scenario {

struct RankLayout {
  std::vector<int> ranks;                   ///< simulated, by slot: the first rank of each class
  std::vector<std::uint32_t> slot_of_rank;  ///< who stands for each rank
  int classes = 1;                          ///< ranks that may behave differently
  std::vector<nccl::CommunicatorSpec> communicators;  ///< by instance
  /// [slot][program's communicator]
  std::vector<std::vector<cuda::Membership>> memberships;
};

/// The groups that the role's communicators join: "world", "shard" and "reduce_scatter"
/// (consecutive ranks), "repl" (ranks with the same place in their shard group), "reshard"
/// (`reshard` consecutive ranks).
std::vector<std::vector<int>> groups_of_role(const std::string& role,
                                             const training::GroupSizes& sizes,
                                             std::int64_t reshard);

/// `roles` are the program's communicators, `groups` theirs in ranks, [role][group], with the
/// classes of each. `gpus`: the GPU of each rank, in the cluster's numbering.
RankLayout lay_out_ranks(const std::vector<std::string>& roles,
                         const std::vector<std::vector<std::vector<int>>>& groups,
                         const RankClasses& classes, const std::vector<int>& gpus);

}  // namespace shardsim::scenario

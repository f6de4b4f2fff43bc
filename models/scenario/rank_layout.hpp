// Which ranks are simulated, and which communicators they are in.
//
// Ranks that run the same program on the same hardware in like surroundings move alike, so one of
// them can stand for all: its communicators then carry out, in lockstep, the collectives of all the
// groups that the ranks form. Assumes for that: equal nodes (a topology has one kind), no
// perturbation, and groups that lie alike on the nodes. Otherwise every rank is simulated.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cuda/runtime.hpp"
#include "models/nccl/communicator.hpp"
#include "models/training/training_spec.hpp"

namespace shardsim::scenario {

struct RankLayout {
  std::vector<int> ranks;                             ///< simulated, by slot
  int classes = 1;                                    ///< ranks that may behave differently
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

/// True if every group of ranks lies on the nodes as every other does.
bool groups_lie_alike(const std::vector<std::vector<int>>& groups, std::int64_t gpus_per_node);

/// `roles` are the program's communicators. With `every_rank`, all ranks are simulated.
/// `equal_gpus`: every GPU of a node has the same surroundings, i.e. its own NIC beside one NVLink
/// switch; without that, groups side by side may share NICs and PCIe links unequally.
RankLayout lay_out_ranks(const std::vector<std::string>& roles, const training::GroupSizes& sizes,
                         std::int64_t reshard, std::int64_t gpus_per_node, bool equal_gpus,
                         bool every_rank);

}  // namespace shardsim::scenario

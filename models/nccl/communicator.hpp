// Communicators: which ranks talk to each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardsim::nccl {

/// One instance: the groups in it start a collective together, carry it out alike and end together.
/// With every rank simulated an instance is one group; where one rank stands for a class of ranks,
/// it is all the groups of one class, in lockstep.
struct CommunicatorSpec {
  std::string role;                      ///< "shard", "repl", "world"
  std::vector<std::vector<int>> groups;  ///< ranks in communicator order; equally many in each
  std::uint32_t members = 0;             ///< simulated members that must arrive
  std::vector<int> member_ranks{};       ///< who they are; empty: member m is groups[0][m]

  int rank_of(std::uint32_t member) const {
    return member_ranks.empty() ? groups.front()[member] : member_ranks[member];
  }
};

/// Two ranks of a communicator that cannot reach each other.
struct NoRoute {
  std::string role;
  int from_rank = 0;
  int to_rank = 0;
};

}  // namespace shardsim::nccl

// Communicators: which ranks talk to each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardsim::nccl {

/// One instance: the groups in it start a collective together, carry it out alike and end together.
/// With every rank simulated an instance is one group; where one rank stands for a class of ranks,
/// it is all the groups that those ranks form, in lockstep.
struct CommunicatorSpec {
  std::string role;                      ///< "shard", "repl", "world"
  std::vector<std::vector<int>> groups;  ///< ranks in communicator order; equally many in each
  std::uint32_t members = 0;  ///< simulated members that must arrive; member m is groups[0][m]
};

/// Two ranks of a communicator that cannot reach each other.
struct NoRoute {
  std::string role;
  int from_rank = 0;
  int to_rank = 0;
};

}  // namespace shardsim::nccl

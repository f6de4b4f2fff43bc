// Random data of ranks, and what a collective must make of them.
//
// Data are functions of seed, rank and place, so that nothing has to be kept to check a result.
// Gathered data are bytes; reduced data are floats in -1 .. 1, whose sums are checked against sums
// in double precision.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/reference/work.hpp"

namespace shardsim::reference {

/// Memory of a rank on the host: poison, and the rank's data within.
struct RankBuffers {
  std::vector<std::byte> source;  ///< empty where the operation is in place
  std::vector<std::byte> target;
  std::int64_t source_at = 0;  ///< of the operation's source in `source`, or in `target`
  std::int64_t target_at = 0;  ///< of the operation's target in `target`

  const std::byte* source_begin() const {
    return (source.empty() ? target.data() : source.data()) + source_at;
  }
  std::byte* target_begin() { return target.data() + target_at; }
};

/// All-to-all and send-receive exist out of place only.
bool can_be_in_place(Collective collective);

/// Buffers of all ranks, poisoned but for the data. With guards on either side.
std::vector<RankBuffers> make_buffers(const Work& work, const Plan& plan, bool in_place,
                                      std::uint64_t seed);

/// What is wrong with the results of a rank: the first place and its value, or a guard that is
/// overwritten. Nothing if all is well.
std::optional<std::string> check_rank(const Work& work, const Plan& plan, int rank,
                                      RankBuffers& buffers, std::uint64_t seed);

}  // namespace shardsim::reference

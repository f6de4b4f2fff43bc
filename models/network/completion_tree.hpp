// Which variable finishes first: a tournament over their finish times.
//
// Setting a time only notes it; the tournament is played again when the winner is asked for, along
// the paths of the slots that changed or, when many did, as a whole in one pass over flat memory.
#pragma once

#include <cstdint>
#include <vector>

#include "simcore/time.hpp"

namespace shardsim::network {

class CompletionTree {
 public:
  /// Makes room for slots 0..count-1; new slots never finish.
  void grow(std::size_t count);
  void set(std::uint32_t slot, simcore::SimTime time);
  /// Slot with the earliest time, ties by slot; meaningless when earliest() is never.
  std::uint32_t winner();
  simcore::SimTime earliest();

 private:
  void play();
  std::uint32_t better(std::uint32_t a, std::uint32_t b) const;

  std::vector<simcore::SimTime> times_;  ///< by slot; a power of two of them
  std::vector<std::uint32_t> winners_;   ///< node i has children 2i, 2i+1; node 1 is the root
  std::vector<std::uint32_t> unplayed_;  ///< slots set since the last play
};

}  // namespace shardsim::network

// Which variables finish first: a tree of the earliest of ever more finish times.
//
// Its leaves are blocks of times. Setting a time only notes its block; when the winner is asked
// for, those blocks are looked through and the tree is put right along their paths or, when they
// are many, as a whole: passes over flat memory without branches that no processor can predict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/network/large_pages.hpp"
#include "simcore/time.hpp"

namespace shardsim::network {

class CompletionTree {
 public:
  /// Makes room for slots 0..count-1; new slots never finish.
  void grow(std::size_t count);
  void set(std::uint32_t slot, simcore::SimTime time) {
    if (times_[slot] == time) return;
    times_[slot] = time;
    const std::uint32_t block = slot / block_size;
    noted_[noted_count_] = block;  // there is room for one more than all
    noted_count_ += 1U - is_noted_[block];
    is_noted_[block] = 1;
  }
  /// Appends the slots whose time is not after `time`, in their order.
  void collect_due(simcore::SimTime time, LargeArray<std::uint32_t>& due);
  simcore::SimTime earliest();

 private:
  static constexpr std::uint32_t block_size = 16;

  void play();
  void play_block(std::uint32_t block);
  void play_node(std::size_t node);

  std::vector<simcore::SimTime> times_;  ///< by slot; a power of two of them
  /// Of the times below a node: node i has children 2i, 2i+1; node 1 is the root. The second half
  /// are the blocks.
  std::vector<simcore::SimTime> earliest_;
  std::vector<std::uint32_t> noted_;  ///< blocks with times set since the last play, at front
  std::size_t noted_count_ = 0;
  std::vector<std::uint8_t> is_noted_;  ///< by block
};

}  // namespace shardsim::network

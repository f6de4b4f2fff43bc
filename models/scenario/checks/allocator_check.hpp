// Watches a rank's caching allocator by what it says it does.
//
// Keeps its own map of device memory: segments as they come and go, blocks as they are handed out
// and let go. Holds the allocator to: a block lies in a segment and overlaps no other; what is
// freed was handed out, once; a segment that goes back holds no block in use; allocated and
// reserved are the sums of blocks and segments, never negative and never more allocated than
// reserved; in the end the blocks tile the segments, without gaps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/cuda/allocator_action.hpp"
#include "models/cuda/allocator_snapshot.hpp"
#include "models/scenario/checks/check_log.hpp"

namespace shardsim::scenario {

class AllocatorCheck {
 public:
  /// `log` must outlive the check.
  AllocatorCheck(int rank, CheckLog& log) : rank_(rank), log_(log) {}

  void acted(simcore::SimTime time, const cuda::AllocatorAction& action);
  /// The allocator's own figures, after an allocation or a free.
  void counted(simcore::SimTime time, simcore::Bytes allocated, simcore::Bytes reserved);
  /// How memory lies, by address.
  void compare(simcore::SimTime now, const std::vector<cuda::SegmentSnapshot>& segments);

 private:
  struct Block {
    std::int64_t requested = 0;
    std::int64_t bytes = -1;  ///< of the whole block; negative until it is known
    bool pending = false;     ///< let go, in use on other streams
  };
  void allocate(simcore::SimTime time, std::uint64_t address, std::int64_t bytes);
  void let_go(simcore::SimTime time, std::uint64_t address, std::int64_t bytes);
  void complete(simcore::SimTime time, std::uint64_t address);
  void grow(simcore::SimTime time, std::uint64_t address, std::int64_t bytes);
  void shrink(simcore::SimTime time, std::uint64_t address, std::int64_t bytes);
  /// Does memory lie behind all of it?
  bool covered(std::uint64_t address, std::int64_t bytes) const;
  bool in_use(std::uint64_t address, std::int64_t bytes) const;
  void compare_segment(simcore::SimTime now, const cuda::SegmentSnapshot& segment);
  void expect(Invariant invariant, bool good, simcore::SimTime time, const std::string& found,
              const std::string& expected);

  int rank_;
  CheckLog& log_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  ///< with memory behind them: begin, end
  std::map<std::uint64_t, Block> blocks_;          ///< handed out or pending
  std::int64_t allocated_ = 0;  ///< of blocks handed out, as far as their sizes are known
  std::int64_t reserved_ = 0;
  std::vector<std::uint64_t> unknown_;  ///< blocks whose size the next count tells
};

}  // namespace shardsim::scenario

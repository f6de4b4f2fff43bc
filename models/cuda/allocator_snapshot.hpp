// The allocator's memory laid out, as torch.cuda.memory_snapshot() shows it.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cuda/allocator_sizes.hpp"
#include "models/cuda/program.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::cuda {

enum class BlockState : std::uint8_t {
  vacant,  ///< names no memory
  cached,  ///< free, ready for its stream
  allocated,
  pending,   ///< freed, in use on other streams
  unmapped,  ///< addresses of an expandable segment without memory
};

struct BlockSnapshot {
  std::uint64_t address = 0;
  simcore::Bytes bytes;
  BlockState state = BlockState::cached;
  MemoryKind kind = MemoryKind::other;  ///< of the allocated and the pending
  bool operator==(const BlockSnapshot&) const = default;
};

struct SegmentSnapshot {
  std::uint64_t address = 0;
  simcore::Bytes bytes;  ///< with memory behind it
  StreamId stream = 0;
  MemoryPool pool = MemoryPool::small;
  bool expandable = false;
  std::vector<BlockSnapshot> blocks;  ///< by address, without gaps
  bool operator==(const SegmentSnapshot&) const = default;
};

}  // namespace shardsim::cuda

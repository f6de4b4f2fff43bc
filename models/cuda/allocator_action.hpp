// What the caching allocator does, one entry an action, as torch.cuda.memory._record_memory_history
// names it.
#pragma once

#include <cstdint>

#include "models/cuda/program.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::cuda {

enum class AllocatorActionKind : std::uint8_t {
  alloc,
  free_requested,  ///< the program lets go of the block
  free_completed,  ///< no stream uses it any more: back in the pool
  segment_alloc,   ///< cudaMalloc
  segment_free,    ///< cudaFree
  segment_map,     ///< pages of an expandable segment
  segment_unmap,
  oom,
};

struct AllocatorAction {
  AllocatorActionKind kind = AllocatorActionKind::alloc;
  StreamId stream = 0;
  std::uint64_t address = 0;  ///< for `oom` the bytes that the device has left
  simcore::Bytes bytes;       ///< of the request, of the block that is freed, or of the segment
};

}  // namespace shardsim::cuda

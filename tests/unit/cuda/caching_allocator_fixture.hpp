// Shorthand that the caching allocator's tests share.
#pragma once

#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "models/cuda/caching_allocator.hpp"

namespace shardsim::cuda::allocator_tests {

using simcore::Bytes;

constexpr Bytes kib(std::int64_t count) { return Bytes{count << 10}; }
constexpr Bytes mib(std::int64_t count) { return Bytes{count << 20}; }
constexpr Bytes gib(std::int64_t count) { return Bytes{count << 30}; }

/// Allocates where success is taken for granted.
inline BlockId take(CachingAllocator& allocator, Bytes bytes, StreamId stream = 0,
                    MemoryKind kind = MemoryKind::other) {
  const CachingAllocator::Result result = allocator.allocate(bytes, stream, kind);
  REQUIRE(result.outcome == CachingAllocator::Outcome::allocated);
  return result.block;
}

/// Frees a block that no other stream uses.
inline void drop(CachingAllocator& allocator, BlockId block) {
  REQUIRE(allocator.free(block).empty());
}

/// Frees a block; the event recorded on each stream that uses it is called `event`.
inline void drop_with_event(CachingAllocator& allocator, BlockId block, EventKey event) {
  for (const StreamId stream : allocator.free(block)) {
    allocator.add_pending_event(block, stream, event);
  }
}

inline void complete_all(CachingAllocator& allocator) {
  allocator.process_events([](EventKey) { return true; });
}

/// Addresses of all blocks in a state, in increasing order.
inline std::vector<std::uint64_t> addresses(const CachingAllocator& allocator, BlockState state) {
  std::vector<std::uint64_t> found;
  for (const SegmentSnapshot& segment : allocator.snapshot()) {
    for (const BlockSnapshot& block : segment.blocks) {
      if (block.state == state) found.push_back(block.address);
    }
  }
  return found;
}

}  // namespace shardsim::cuda::allocator_tests

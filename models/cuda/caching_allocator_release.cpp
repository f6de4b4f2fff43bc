// Giving cached segments back to the device: when it is full, and by garbage collection.
#include <algorithm>
#include <cassert>
#include <iterator>

#include "models/cuda/caching_allocator.hpp"

namespace shardsim::cuda {

using simcore::Bytes;

bool CachingAllocator::collects_garbage() const {
  return spec_.memory_fraction && spec_.garbage_collection_threshold &&
         spec_.garbage_collection_threshold->value > 0;
}

/// How many searches of its pool the block has sat through.
std::int64_t CachingAllocator::age(const Block& block) const {
  return pools_[static_cast<int>(block.pool)].searches - block.cached_at;
}

/// Frees unsplit blocks of the large pool that are at least as old as their average, in rounds,
/// until enough is free to come below the threshold. A round is never cut short, so that the next
/// allocations need no further one.
void CachingAllocator::collect_garbage() {
  const auto threshold = static_cast<std::int64_t>(spec_.garbage_collection_threshold->value *
                                                   static_cast<double>(allowed_));
  const std::int64_t target = statistics_.reserved.count - threshold;
  if (target <= 0) return;
  FreeBlockIndex& cached = pools_[static_cast<int>(MemoryPool::large)].cached;
  const auto freeable = [this](const FreeBlockKey& key) {
    return !is_split(blocks_[key.block]) && !blocks_[key.block].expandable;
  };
  std::int64_t total_age = 0;
  std::int64_t count = 0;
  for (const FreeBlockKey& key : cached) {
    if (!freeable(key)) continue;
    total_age += age(blocks_[key.block]);
    ++count;
  }
  std::int64_t reclaimed = 0;
  bool progress = true;
  while (reclaimed < target && progress && count > 0) {
    const double average = static_cast<double>(total_age) / static_cast<double>(count);
    progress = false;
    for (auto at = cached.begin(); at != cached.end();) {
      const FreeBlockKey key = *at++;
      const std::int64_t block_age = age(blocks_[key.block]);
      if (!freeable(key) || static_cast<double>(block_age) < average) continue;
      progress = true;
      reclaimed += key.size;
      total_age -= block_age;
      --count;
      release_segment(key.block);
    }
  }
}

/// Frees one unsplittable block of the stream that is large enough, or the largest ones until they
/// are together; false if that does not suffice. Only with max_split_size.
bool CachingAllocator::release_oversize(const Request& request) {
  if (!spec_.max_split_size) return false;
  FreeBlockIndex& cached = pools_[static_cast<int>(request.pool)].cached;
  const std::int64_t needed = std::max(request.block, max_split_size_);
  auto at = cached.lower_bound(FreeBlockKey{request.stream, needed, 0, 0});
  if (at != cached.end() && at->stream == request.stream && !blocks_[at->block].expandable) {
    release_segment(at->block);
    return true;
  }
  std::int64_t released = 0;
  while (released < needed && at != cached.begin()) {
    const auto candidate = std::prev(at);
    const FreeBlockKey key = *candidate;
    if (key.stream != request.stream || key.size < max_split_size_) break;
    if (blocks_[key.block].expandable) {
      at = candidate;
      continue;
    }
    released += key.size;
    release_segment(key.block);
  }
  return released >= needed;
}

/// Frees every cached segment that is not split, and the pages of expandable segments that hold
/// nothing.
void CachingAllocator::release_cached() {
  for (const MemoryPool which : {MemoryPool::large, MemoryPool::small}) {
    FreeBlockIndex& cached = pools_[static_cast<int>(which)].cached;
    // Unmapping changes the index, so it comes after the walk.
    scratch_.clear();
    for (auto at = cached.begin(); at != cached.end();) {
      const BlockId block = (at++)->block;
      if (blocks_[block].expandable) {
        scratch_.push_back(block);
      } else if (!is_split(blocks_[block])) {
        release_segment(block);
      }
    }
    for (const BlockId block : scratch_) unmap_pages(block);
  }
}

void CachingAllocator::release_segment(BlockId block) {
  assert(!is_split(blocks_[block]) && !blocks_[block].expandable);
  uncache(block);
  const Block& segment = blocks_[block];
  note(AllocatorActionKind::segment_free, segment.stream, segment.address, segment.size);
  statistics_.reserved -= Bytes{segment.size};
  ++statistics_.num_device_free;
  destroy_block(block);
}

}  // namespace shardsim::cuda

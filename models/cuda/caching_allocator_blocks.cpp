// Blocks: creation, neighbours, the indexes of the pools, merging; and what reports read of them.
#include <algorithm>
#include <cassert>

#include "models/cuda/caching_allocator.hpp"

namespace shardsim::cuda {

using simcore::Bytes;

BlockId CachingAllocator::create_block(StreamId stream, MemoryPool pool, bool expandable,
                                       std::uint64_t address, std::int64_t size) {
  BlockId id = 0;
  if (vacant_blocks_.empty()) {
    id = static_cast<BlockId>(blocks_.size());
    blocks_.emplace_back();
  } else {
    id = vacant_blocks_.back();
    vacant_blocks_.pop_back();
  }
  Block& block = blocks_[id];
  block = Block{};
  block.address = address;
  block.size = size;
  block.stream = stream;
  block.pool = pool;
  block.expandable = expandable;
  return id;
}

void CachingAllocator::destroy_block(BlockId id) {
  blocks_[id].state = BlockState::vacant;
  vacant_blocks_.push_back(id);
}

void CachingAllocator::link_after(BlockId id, BlockId predecessor) {
  Block& block = blocks_[id];
  block.previous = predecessor;
  block.next = blocks_[predecessor].next;
  blocks_[predecessor].next = id;
  if (block.next != no_block) blocks_[block.next].previous = id;
}

bool CachingAllocator::is_split(const Block& block) const {
  return block.previous != no_block || block.next != no_block;
}

FreeBlockKey CachingAllocator::key_of(BlockId id) const {
  const Block& block = blocks_[id];
  const std::int64_t size = block.state == BlockState::unmapped ? 0 : block.size;
  return FreeBlockKey{block.stream, size, block.address, id};
}

void CachingAllocator::cache(BlockId id) {
  Block& block = blocks_[id];
  Pool& pool = pools_[static_cast<int>(block.pool)];
  block.state = BlockState::cached;
  block.cached_at = pool.searches;
  pool.cached.insert(key_of(id));
}

void CachingAllocator::add_unmapped(BlockId id) {
  Block& block = blocks_[id];
  block.state = BlockState::unmapped;
  pools_[static_cast<int>(block.pool)].unmapped.insert(key_of(id));
}

/// Takes a cached or unmapped block out of its index.
void CachingAllocator::uncache(BlockId id) {
  const Block& block = blocks_[id];
  Pool& pool = pools_[static_cast<int>(block.pool)];
  FreeBlockIndex& index = block.state == BlockState::unmapped ? pool.unmapped : pool.cached;
  [[maybe_unused]] const std::size_t erased = index.erase(key_of(id));
  assert(erased == 1);
}

/// Swallows `neighbour` if it is in `state`; returns the bytes gained.
std::int64_t CachingAllocator::merge(BlockId into, BlockId neighbour, BlockState state) {
  if (neighbour == no_block || blocks_[neighbour].state != state) return 0;
  uncache(neighbour);
  Block& block = blocks_[into];
  const Block swallowed = blocks_[neighbour];
  if (block.previous == neighbour) {
    block.address = swallowed.address;
    block.previous = swallowed.previous;
    if (block.previous != no_block) blocks_[block.previous].next = into;
  } else {
    block.next = swallowed.next;
    if (block.next != no_block) blocks_[block.next].previous = into;
  }
  block.size += swallowed.size;
  destroy_block(neighbour);
  return swallowed.size;
}

/// Ends the use of a block that was allocated or pending.
void CachingAllocator::return_to_pool(BlockId id) {
  const std::int64_t freed = blocks_[id].size;
  note(AllocatorActionKind::free_completed, blocks_[id].stream, blocks_[id].address, freed);
  const BlockId neighbours[] = {blocks_[id].previous, blocks_[id].next};
  std::int64_t inactive = 0;
  for (const BlockId neighbour : neighbours) inactive -= merge(id, neighbour, BlockState::cached);
  cache(id);
  const Block& block = blocks_[id];
  if (is_split(block)) inactive += block.size;
  if (!block.expandable) add_inactive_split(inactive);
  statistics_.active -= Bytes{freed};
}

void CachingAllocator::add_inactive_split(std::int64_t bytes) {
  statistics_.inactive_split += Bytes{bytes};
  statistics_.peak_inactive_split =
      std::max(statistics_.peak_inactive_split, statistics_.inactive_split);
}

/// Keeps the streams of a block in increasing order, each once.
void CachingAllocator::add_stream_use(Block& block, StreamId stream) {
  std::uint32_t* link = &block.first_use;
  while (*link != no_use && uses_[*link].stream < stream) link = &uses_[*link].next;
  if (*link != no_use && uses_[*link].stream == stream) return;
  const std::uint32_t successor = *link;
  if (vacant_use_ != no_use) {
    const std::uint32_t use = vacant_use_;
    vacant_use_ = uses_[use].next;
    uses_[use] = StreamUse{stream, successor};
    *link = use;
    return;
  }
  // Written before the list of uses grows and moves what `link` points at.
  *link = static_cast<std::uint32_t>(uses_.size());
  uses_.push_back(StreamUse{stream, successor});
}

/// Moves the streams of a block to freed_uses_.
void CachingAllocator::take_stream_uses(Block& block) {
  while (block.first_use != no_use) {
    const std::uint32_t use = block.first_use;
    freed_uses_.push_back(uses_[use].stream);
    block.first_use = uses_[use].next;
    uses_[use].next = vacant_use_;
    vacant_use_ = use;
  }
}

MemoryShortage CachingAllocator::shortage(Bytes bytes, StreamId stream) const {
  MemoryShortage result;
  result.requested = bytes;
  result.capacity = Bytes{std::min(capacity_, allowed_)};
  result.reserved = statistics_.reserved;
  result.allocated = statistics_.allocated;
  result.pending = statistics_.active - statistics_.allocated;
  result.cached = statistics_.reserved - statistics_.active;
  result.allocated_by_kind = statistics_.allocated_by_kind;
  if (bytes.count <= 0 || bytes > largest_request) {
    result.segment = bytes;
    return result;
  }
  const Request request = make_request(bytes, stream);
  result.segment = Bytes{request.segment};
  const FreeBlockIndex& cached = pools_[static_cast<int>(request.pool)].cached;
  const auto beyond = cached.upper_bound(FreeBlockKey{stream, INT64_MAX, UINT64_MAX, no_block});
  if (beyond != cached.begin() && std::prev(beyond)->stream == stream) {
    result.largest_cached = Bytes{std::prev(beyond)->size};
  }
  return result;
}

std::vector<SegmentSnapshot> CachingAllocator::snapshot() const {
  std::vector<SegmentSnapshot> segments;
  for (const Block& first : blocks_) {
    if (first.state == BlockState::vacant || first.previous != no_block) continue;
    SegmentSnapshot segment{first.address, Bytes{}, first.stream, first.pool, first.expandable, {}};
    const Block* block = &first;
    for (;;) {
      segment.blocks.push_back(
          BlockSnapshot{block->address, Bytes{block->size}, block->state, block->kind});
      if (block->state != BlockState::unmapped) segment.bytes += Bytes{block->size};
      if (block->next == no_block) break;
      block = &blocks_[block->next];
    }
    segments.push_back(std::move(segment));
  }
  std::ranges::sort(segments, {}, &SegmentSnapshot::address);
  return segments;
}

}  // namespace shardsim::cuda

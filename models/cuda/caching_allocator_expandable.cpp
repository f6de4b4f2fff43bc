// Expandable segments: a range of addresses per stream and pool, larger than the device's memory,
// in which pages are mapped as the stream needs them and unmapped when the device is full.
#include <algorithm>
#include <cassert>
#include <iterator>

#include "models/cuda/caching_allocator.hpp"

namespace shardsim::cuda {

using simcore::Bytes;

namespace {

std::uint64_t round_down(std::uint64_t value, std::uint64_t step) { return value / step * step; }
std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return round_down(value + step - 1, step);
}

std::uint64_t page_of(MemoryPool pool) { return static_cast<std::uint64_t>(page_size(pool).count); }

}  // namespace

std::int64_t CachingAllocator::size_when_expanded(BlockId id) const {
  const Block& block = blocks_[id];
  const bool can_grow = block.next != no_block && blocks_[block.next].state == BlockState::unmapped;
  return block.size + (can_grow ? blocks_[block.next].size : 0);
}

/// The tail of a segment counts with the size to which it could grow, so that it is used only when
/// no closed block fits. Walks on while the next larger block could grow to less.
FreeBlockIndex::const_iterator CachingAllocator::prefer_least_expandable(
    const Request& request, FreeBlockIndex::const_iterator at) const {
  const FreeBlockIndex& cached = pools_[static_cast<int>(request.pool)].cached;
  for (auto next = std::next(at); next != cached.end() && next->stream == request.stream; ++next) {
    if (size_when_expanded(next->block) >= size_when_expanded(at->block)) break;
    at = next;
  }
  return at;
}

/// True if the free and unmapped blocks from `first` on hold `size` bytes without a gap.
bool CachingAllocator::has_room(BlockId first, std::int64_t size) const {
  std::int64_t room = 0;
  for (BlockId id = first; id != no_block && room < size; id = blocks_[id].next) {
    const BlockState state = blocks_[id].state;
    if (state != BlockState::cached && state != BlockState::unmapped) break;
    room += blocks_[id].size;
  }
  return room >= size;
}

/// The lowest place of the stream's segments where the request fits once pages are mapped: an
/// unmapped range, together with the free block before it. A new segment if there is none.
BlockId CachingAllocator::find_expandable(const Request& request) {
  const FreeBlockIndex& unmapped = pools_[static_cast<int>(request.pool)].unmapped;
  for (auto at = unmapped.lower_bound(FreeBlockKey{request.stream, 0, 0, 0});
       at != unmapped.end() && at->stream == request.stream; ++at) {
    const BlockId before = blocks_[at->block].previous;
    const bool from_before = before != no_block && blocks_[before].state == BlockState::cached;
    const BlockId first = from_before ? before : at->block;
    if (has_room(first, request.block)) return first;
  }
  return reserve_addresses(request);
}

BlockId CachingAllocator::reserve_addresses(const Request& request) {
  const std::uint64_t page = page_of(request.pool);
  const std::uint64_t size = round_up(static_cast<std::uint64_t>(expandable_addresses_), page);
  if (static_cast<std::uint64_t>(request.block) > size) return no_block;
  const std::uint64_t address = round_up(next_address_, page);
  next_address_ = address + size;
  const BlockId block =
      create_block(request.stream, request.pool, true, address, static_cast<std::int64_t>(size));
  add_unmapped(block);
  return block;
}

/// Maps pages until the place that was found is large enough. Pages mapped before the device turns
/// out to be full stay, as free memory.
BlockId CachingAllocator::grow_expandable(const Request& request) {
  BlockId block = find_expandable(request);
  if (block == no_block) return no_block;
  if (blocks_[block].state == BlockState::unmapped &&
      !map_pages(block, std::min(blocks_[block].size, request.block))) {
    return no_block;
  }
  while (blocks_[block].size < request.block) {
    const BlockId next = blocks_[block].next;
    const std::int64_t missing = request.block - blocks_[block].size;
    if (!map_pages(next, std::min(missing, blocks_[next].size))) return no_block;
    block = next;
  }
  uncache(block);
  return block;
}

/// Puts memory behind the first `size` bytes of an unmapped block, in whole pages; the block then
/// merges with its free neighbours. False if the device has too little.
bool CachingAllocator::map_pages(BlockId id, std::int64_t size) {
  const Block range = blocks_[id];
  assert(range.state == BlockState::unmapped && size <= range.size);
  const auto mapped =
      static_cast<std::int64_t>(round_up(static_cast<std::uint64_t>(size), page_of(range.pool)));
  if (capacity_ - statistics_.reserved.count < mapped) return false;
  note(AllocatorActionKind::segment_map, range.stream, range.address, mapped);
  uncache(id);
  if (mapped < range.size) {
    const BlockId rest =
        create_block(range.stream, range.pool, true,
                     range.address + static_cast<std::uint64_t>(mapped), range.size - mapped);
    link_after(rest, id);
    blocks_[id].size = mapped;
    add_unmapped(rest);
  }
  merge(id, blocks_[id].previous, BlockState::cached);
  merge(id, blocks_[id].next, BlockState::cached);
  cache(id);
  statistics_.reserved += Bytes{mapped};
  statistics_.peak_reserved = std::max(statistics_.peak_reserved, statistics_.reserved);
  ++statistics_.num_device_alloc;
  return true;
}

/// Takes the memory from the whole pages of a free block. What is left of it at either end stays
/// free; the range merges with its unmapped neighbours and ends when it is the whole segment.
void CachingAllocator::unmap_pages(BlockId id) {
  const Block range = blocks_[id];
  const std::uint64_t page = page_of(range.pool);
  const std::uint64_t range_end = range.address + static_cast<std::uint64_t>(range.size);
  const std::uint64_t begin = round_up(range.address, page);
  const std::uint64_t end = round_down(range_end, page);
  if (begin >= end) return;
  note(AllocatorActionKind::segment_unmap, range.stream, begin,
       static_cast<std::int64_t>(end - begin));
  uncache(id);
  blocks_[id].address = begin;
  blocks_[id].size = static_cast<std::int64_t>(end - begin);
  if (begin > range.address) {
    // A page that starts inside the block has an allocated neighbour before it in the segment.
    const BlockId before = create_block(range.stream, range.pool, true, range.address,
                                        static_cast<std::int64_t>(begin - range.address));
    link_after(before, range.previous);
    cache(before);
  }
  if (end < range_end) {
    const BlockId after = create_block(range.stream, range.pool, true, end,
                                       static_cast<std::int64_t>(range_end - end));
    link_after(after, id);
    cache(after);
  }
  merge(id, blocks_[id].previous, BlockState::unmapped);
  merge(id, blocks_[id].next, BlockState::unmapped);
  if (is_split(blocks_[id])) {
    add_unmapped(id);
  } else {
    destroy_block(id);
  }
  statistics_.reserved -= Bytes{static_cast<std::int64_t>(end - begin)};
  ++statistics_.num_device_free;
}

}  // namespace shardsim::cuda

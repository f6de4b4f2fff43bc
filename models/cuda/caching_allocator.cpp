// What an allocation and a free do, in PyTorch's order.
#include "models/cuda/caching_allocator.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <utility>

namespace shardsim::cuda {

using simcore::Bytes;

namespace {

void increase(Bytes& current, Bytes& peak, std::int64_t bytes) {
  current += Bytes{bytes};
  peak = std::max(peak, current);
}

std::int64_t share(simcore::Fraction fraction, Bytes whole) {
  return static_cast<std::int64_t>(fraction.value * static_cast<double>(whole.count));
}

}  // namespace

CachingAllocator::CachingAllocator(const AllocatorSpec& spec, Bytes capacity, Bytes device_memory)
    : capacity_(capacity.count),
      allowed_(spec.memory_fraction ? share(*spec.memory_fraction, device_memory) : capacity.count),
      // An expandable segment reserves addresses for 9/8 of the device's memory; a device has at
      // most 2^48 of them.
      expandable_addresses_(std::min(device_memory.count, std::int64_t{1} << 48) / 8 * 9),
      max_split_size_(
          spec.max_split_size.value_or(Bytes{std::numeric_limits<std::int64_t>::max()}).count),
      spec_(spec),
      nodes_(std::make_unique<std::pmr::unsynchronized_pool_resource>()),
      pools_{Pool{FreeBlockIndex(nodes_.get()), FreeBlockIndex(nodes_.get())},
             Pool{FreeBlockIndex(nodes_.get()), FreeBlockIndex(nodes_.get())}},
      next_address_(static_cast<std::uint64_t>(large_segment.count)) {}

CachingAllocator::Result CachingAllocator::allocate(Bytes bytes, StreamId stream, MemoryKind kind) {
  assert(bytes.count >= 0);
  Result result;
  if (bytes.count == 0) return result;
  result.outcome = Outcome::out_of_memory;
  if (bytes > largest_request) {
    retry_due_ = false;
    ++statistics_.num_ooms;
    return result;
  }
  const std::int64_t mallocs = statistics_.num_device_alloc;
  const std::int64_t frees = statistics_.num_device_free;
  const Request request = make_request(bytes, stream);
  BlockId block = no_block;
  if (!std::exchange(retry_due_, false)) {
    block = find_or_grow(request);
    retry_due_ = block == no_block && has_pending();
  }
  if (retry_due_) {
    result.outcome = Outcome::wait_for_pending;
  } else {
    if (block == no_block) block = grow_after_release(request);
    if (block == no_block) {
      ++statistics_.num_ooms;
    } else {
      block = split(block, request);
      hand_out(block, kind);
      note(AllocatorActionKind::alloc, stream, blocks_[block].address, bytes.count);
      result.outcome = Outcome::allocated;
      result.block = block;
      result.bytes = Bytes{blocks_[block].size};
    }
  }
  result.device_malloc = statistics_.num_device_alloc > mallocs;
  result.freed_segments = static_cast<int>(statistics_.num_device_free - frees);
  return result;
}

CachingAllocator::Request CachingAllocator::make_request(Bytes bytes, StreamId stream) const {
  const Bytes block = block_size(bytes, spec_.roundup_power2_divisions);
  return Request{block.count, segment_size(block).count, stream, pool_of(block)};
}

BlockId CachingAllocator::find_or_grow(const Request& request) {
  BlockId block = take_best_fit(request);
  if (block != no_block) return block;
  if (collects_garbage()) collect_garbage();
  block = grow(request);
  if (block == no_block && release_oversize(request)) block = grow(request);
  return block;
}

/// The cached blocks are not searched again: only new memory serves the retry.
BlockId CachingAllocator::grow_after_release(const Request& request) {
  assert(!has_pending());
  release_cached();
  ++statistics_.num_alloc_retries;
  return grow(request);
}

BlockId CachingAllocator::take_best_fit(const Request& request) {
  Pool& pool = pools_[static_cast<int>(request.pool)];
  if (collects_garbage()) ++pool.searches;
  auto at = pool.cached.lower_bound(FreeBlockKey{request.stream, request.block, 0, 0});
  if (at == pool.cached.end() || at->stream != request.stream) return no_block;
  if (spec_.expandable_segments) at = prefer_least_expandable(request, at);
  // Blocks too large to be split serve only requests of nearly their size.
  if (at->size >= max_split_size_) {
    if (request.block < max_split_size_) return no_block;
    if (at->size - request.block >= spec_.max_non_split_rounding.count) return no_block;
  }
  const BlockId block = at->block;
  uncache(block);
  return block;
}

BlockId CachingAllocator::grow(const Request& request) {
  if (spec_.memory_fraction && allowed_ - statistics_.reserved.count < request.segment) {
    return no_block;
  }
  return spec_.expandable_segments ? grow_expandable(request) : allocate_segment(request);
}

BlockId CachingAllocator::allocate_segment(const Request& request) {
  if (capacity_ - statistics_.reserved.count < request.segment) return no_block;
  const BlockId block =
      create_block(request.stream, request.pool, false, next_address_, request.segment);
  note(AllocatorActionKind::segment_alloc, request.stream, next_address_, request.segment);
  next_address_ += static_cast<std::uint64_t>(request.segment);
  increase(statistics_.reserved, statistics_.peak_reserved, request.segment);
  ++statistics_.num_device_alloc;
  return block;
}

bool CachingAllocator::should_split(const Block& block, const Request& request) const {
  const std::int64_t rest = block.size - request.block;
  if (block.pool == MemoryPool::small || spec_.expandable_segments) {
    return rest >= minimum_block.count;
  }
  return request.block < max_split_size_ && rest > largest_small.count;
}

/// Cuts the request off the front of the block, if the rule allows it; the rest is cached.
BlockId CachingAllocator::split(BlockId block, const Request& request) {
  const Block found = blocks_[block];
  const bool was_split = is_split(found);
  if (should_split(found, request)) {
    const std::int64_t rest = found.size - request.block;
    const BlockId remainder =
        create_block(found.stream, found.pool, found.expandable,
                     found.address + static_cast<std::uint64_t>(request.block), rest);
    link_after(remainder, block);
    blocks_[block].size = request.block;
    cache(remainder);
    if (!found.expandable) add_inactive_split(was_split ? -request.block : rest);
  } else if (was_split && !found.expandable) {
    add_inactive_split(-found.size);
  }
  return block;
}

void CachingAllocator::hand_out(BlockId id, MemoryKind kind) {
  Block& block = blocks_[id];
  block.state = BlockState::allocated;
  block.kind = kind;
  statistics_.allocated_by_kind[static_cast<std::size_t>(kind)] += Bytes{block.size};
  statistics_.allocated += Bytes{block.size};
  if (statistics_.allocated > statistics_.peak_allocated) {
    statistics_.peak_allocated = statistics_.allocated;
    statistics_.peak_allocated_by_kind = statistics_.allocated_by_kind;
  }
  increase(statistics_.active, statistics_.peak_active, block.size);
}

std::span<const StreamId> CachingAllocator::free(BlockId id) {
  freed_uses_.clear();
  if (id == no_block) return freed_uses_;
  Block& block = blocks_[id];
  assert(block.state == BlockState::allocated);
  statistics_.allocated -= Bytes{block.size};
  statistics_.allocated_by_kind[static_cast<std::size_t>(block.kind)] -= Bytes{block.size};
  note(AllocatorActionKind::free_requested, block.stream, block.address, block.size);
  take_stream_uses(block);
  if (freed_uses_.empty()) {
    return_to_pool(id);
  } else {
    block.state = BlockState::pending;
    block.pending_events = static_cast<std::uint32_t>(freed_uses_.size());
  }
  return freed_uses_;
}

void CachingAllocator::add_pending_event(BlockId block, StreamId stream, EventKey event) {
  assert(blocks_[block].state == BlockState::pending);
  pending_.push(stream, event, block);
}

void CachingAllocator::record_stream(BlockId id, StreamId stream) {
  if (id == no_block) return;
  Block& block = blocks_[id];
  assert(block.state == BlockState::allocated);
  if (stream != block.stream) add_stream_use(block, stream);
}

void CachingAllocator::event_completed(BlockId id) {
  Block& block = blocks_[id];
  assert(block.state == BlockState::pending && block.pending_events > 0);
  if (--block.pending_events == 0) return_to_pool(id);
}

void CachingAllocator::reset_peaks() {
  statistics_.peak_allocated = statistics_.allocated;
  statistics_.peak_active = statistics_.active;
  statistics_.peak_reserved = statistics_.reserved;
  statistics_.peak_inactive_split = statistics_.inactive_split;
  statistics_.peak_allocated_by_kind = statistics_.allocated_by_kind;
}

}  // namespace shardsim::cuda

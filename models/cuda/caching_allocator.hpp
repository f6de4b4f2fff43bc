// PyTorch's CUDA caching allocator, as a data structure without a clock.
//
// Models: rounding to 512 B; a small pool (requests up to 1 MiB, in 2 MiB segments) and a large one
// (20 MiB segments below 10 MiB, else the request rounded up to 2 MiB); best fit by size and
// address among the blocks of the requesting stream; splitting and merging; blocks freed while
// other streams use them, which return when the events recorded for them complete; freeing of
// unsplit cached segments when the device is full; garbage collection, limits on splitting and
// expandable segments. Follows c10/cuda/CUDACachingAllocator.cpp (2025) step by step, so that its
// counters can be compared with torch.cuda.memory_stats. Assumes that the device gives memory as
// long as the segments fit into the capacity (pages of 2 MiB, no fragmentation of physical memory),
// and ever higher addresses, which only break ties. Leaves out CUDA graph pools, user pools, peer
// access and allocation hooks.
//
// The caller owns time. It asks for blocks when its CPU thread does, records an event where `free`
// asks for one, and says which events have completed.
#pragma once

#include <cstdint>
#include <memory>
#include <memory_resource>
#include <span>
#include <vector>

#include "models/cuda/allocator_action.hpp"
#include "models/cuda/allocator_sizes.hpp"
#include "models/cuda/allocator_snapshot.hpp"
#include "models/cuda/allocator_spec.hpp"
#include "models/cuda/allocator_statistics.hpp"
#include "models/cuda/free_block_index.hpp"
#include "models/cuda/memory_shortage.hpp"
#include "models/cuda/pending_frees.hpp"
#include "models/cuda/program.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::cuda {

class CachingAllocator {
 public:
  /// The block of a request of zero bytes: it occupies nothing and may be freed and recorded.
  static constexpr BlockId no_block = UINT32_MAX;

  enum class Outcome : std::uint8_t {
    allocated,
    /// The device is full and freed blocks are still in use on other streams. The CPU must wait for
    /// every pending event; process_events() then takes them all, and the next call of allocate(),
    /// with the same arguments, frees cached segments and tries again.
    wait_for_pending,
    out_of_memory,  ///< shortage() says why; nothing was handed out
  };

  struct Result {
    Outcome outcome = Outcome::allocated;
    BlockId block = no_block;
    simcore::Bytes bytes;        ///< size of the block, at least the request
    bool device_malloc = false;  ///< cudaMalloc was called (or pages mapped)
    /// cudaFree calls (or unmappings): each waits until the device is idle.
    int freed_segments = 0;
  };

  /// `capacity`: device memory that the pools can get, i.e. without context and libraries.
  /// `device_memory`: all of it, to which the specification's memory_fraction refers.
  CachingAllocator(const AllocatorSpec& spec, simcore::Bytes capacity,
                   simcore::Bytes device_memory);
  CachingAllocator(const AllocatorSpec& spec, simcore::Bytes capacity)
      : CachingAllocator(spec, capacity, capacity) {}
  CachingAllocator(CachingAllocator&&) = default;
  CachingAllocator& operator=(CachingAllocator&&) = delete;

  /// A block of at least `bytes` >= 0 for use on `stream`. Call process_events() first.
  Result allocate(simcore::Bytes bytes, StreamId stream, MemoryKind kind);

  /// Frees the block. Returns the other streams that use it, in increasing order; for each of them
  /// the caller records an event and names it with add_pending_event() before it does anything else
  /// here. Without such streams the block is reusable at once. The span is valid until the next
  /// call of free().
  std::span<const StreamId> free(BlockId id);
  void add_pending_event(BlockId block, StreamId stream, EventKey event);
  /// `stream` uses the block too; no effect if it is the stream that the block was allocated for.
  void record_stream(BlockId id, StreamId stream);

  /// Takes completed events and returns the blocks that have none left to the pools.
  /// `is_complete(EventKey)` is asked of each stream's events in the order of their recording,
  /// until it says no; it is not asked again about an event for which it said yes.
  template <class IsComplete>
  void process_events(IsComplete&& is_complete) {
    pending_.poll(is_complete, [this](BlockId block) { event_completed(block); });
  }
  bool has_pending() const { return !pending_.empty(); }
  /// Calls `visit(StreamId, EventKey)` for every event that has not been taken.
  template <class Visit>
  void for_each_pending_event(Visit&& visit) const {
    pending_.for_each(visit);
  }

  /// Appends every action from now on to `actions`, which outlives the allocator; null: to none.
  void record_actions(std::vector<AllocatorAction>* actions) { actions_ = actions; }

  const AllocatorStatistics& statistics() const { return statistics_; }
  void reset_peaks();
  /// Why a request of `bytes` cannot be met now, in numbers.
  MemoryShortage shortage(simcore::Bytes bytes, StreamId stream) const;
  /// Every segment with its blocks, by address.
  std::vector<SegmentSnapshot> snapshot() const;

 private:
  static constexpr std::uint32_t no_use = UINT32_MAX;

  struct Block {
    std::uint64_t address = 0;
    std::int64_t size = 0;
    std::int64_t cached_at = 0;   ///< searches of the pool when it was cached; its age follows
    BlockId previous = no_block;  ///< neighbours within the segment
    BlockId next = no_block;
    std::uint32_t first_use = no_use;  ///< other streams, by number
    std::uint32_t pending_events = 0;
    StreamId stream = 0;
    MemoryPool pool = MemoryPool::small;
    MemoryKind kind = MemoryKind::other;
    BlockState state = BlockState::vacant;
    bool expandable = false;
  };
  struct StreamUse {
    StreamId stream = 0;
    std::uint32_t next = no_use;
  };
  struct Pool {
    FreeBlockIndex cached;
    FreeBlockIndex unmapped;  ///< ranges of expandable segments without memory
    std::int64_t searches = 0;
  };
  struct Request {
    std::int64_t block = 0;    ///< rounded size
    std::int64_t segment = 0;  ///< what the device is asked for
    StreamId stream = 0;
    MemoryPool pool = MemoryPool::small;
  };

  // caching_allocator.cpp: the order of events of an allocation and of a free.
  Request make_request(simcore::Bytes bytes, StreamId stream) const;
  BlockId find_or_grow(const Request& request);
  BlockId grow_after_release(const Request& request);
  BlockId take_best_fit(const Request& request);
  BlockId grow(const Request& request);
  BlockId allocate_segment(const Request& request);
  BlockId split(BlockId block, const Request& request);
  bool should_split(const Block& block, const Request& request) const;
  void hand_out(BlockId id, MemoryKind kind);
  void event_completed(BlockId id);

  // caching_allocator_release.cpp: giving segments back to the device.
  void collect_garbage();
  bool release_oversize(const Request& request);
  void release_cached();
  void release_segment(BlockId block);

  // caching_allocator_expandable.cpp: segments that grow page by page.
  FreeBlockIndex::const_iterator prefer_least_expandable(const Request& request,
                                                         FreeBlockIndex::const_iterator at) const;
  std::int64_t size_when_expanded(BlockId id) const;
  BlockId find_expandable(const Request& request);
  bool has_room(BlockId first, std::int64_t size) const;
  BlockId reserve_addresses(const Request& request);
  BlockId grow_expandable(const Request& request);
  bool map_pages(BlockId id, std::int64_t size);
  void unmap_pages(BlockId id);

  // caching_allocator_blocks.cpp: blocks, their neighbours and the indexes.
  BlockId create_block(StreamId stream, MemoryPool pool, bool expandable, std::uint64_t address,
                       std::int64_t size);
  void destroy_block(BlockId id);
  void link_after(BlockId id, BlockId predecessor);
  bool is_split(const Block& block) const;
  FreeBlockKey key_of(BlockId id) const;
  void cache(BlockId id);
  void add_unmapped(BlockId id);
  void uncache(BlockId id);
  void return_to_pool(BlockId id);
  std::int64_t merge(BlockId into, BlockId neighbour, BlockState state);
  void add_stream_use(Block& block, StreamId stream);
  void take_stream_uses(Block& block);
  void add_inactive_split(std::int64_t bytes);
  void note(AllocatorActionKind kind, StreamId stream, std::uint64_t address, std::int64_t bytes) {
    if (actions_ != nullptr) actions_->push_back({kind, stream, address, simcore::Bytes{bytes}});
  }

  bool collects_garbage() const;
  std::int64_t age(const Block& block) const;

  // Fixed after construction.
  std::int64_t capacity_ = 0;
  std::int64_t allowed_ = 0;  ///< memory_fraction of the device's memory; capacity if unset
  std::int64_t expandable_addresses_ = 0;
  std::int64_t max_split_size_ = 0;
  AllocatorSpec spec_;

  std::unique_ptr<std::pmr::unsynchronized_pool_resource> nodes_;
  Pool pools_[2];  ///< index is MemoryPool
  std::vector<Block> blocks_;
  std::vector<BlockId> vacant_blocks_;
  std::vector<StreamUse> uses_;
  std::uint32_t vacant_use_ = no_use;
  std::vector<StreamId> freed_uses_;  ///< what free() returned last
  std::vector<BlockId> scratch_;
  PendingFrees pending_;
  std::uint64_t next_address_ = 0;
  bool retry_due_ = false;  ///< the last allocation ended in wait_for_pending
  AllocatorStatistics statistics_;
  std::vector<AllocatorAction>* actions_ = nullptr;
};

}  // namespace shardsim::cuda

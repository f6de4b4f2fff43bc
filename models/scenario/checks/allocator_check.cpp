#include "models/scenario/checks/allocator_check.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "models/scenario/checks/check_log.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::scenario {

using cuda::AllocatorActionKind;
using simcore::SimTime;

void AllocatorCheck::expect(Invariant invariant, bool good, SimTime time, const std::string& found,
                            const std::string& expected) {
  if (log_.holds(invariant, good)) return;
  log_.violated({invariant, time, fmt::format("rank {}", rank_), found, expected});
}

void AllocatorCheck::acted(SimTime time, const cuda::AllocatorAction& action) {
  const std::int64_t bytes = action.bytes.count;
  switch (action.kind) {
    case AllocatorActionKind::alloc:
      return allocate(time, action.address, bytes);
    case AllocatorActionKind::free_requested:
      return let_go(time, action.address, bytes);
    case AllocatorActionKind::free_completed:
      return complete(time, action.address);
    case AllocatorActionKind::segment_alloc:
    case AllocatorActionKind::segment_map:
      return grow(time, action.address, bytes);
    case AllocatorActionKind::segment_free:
    case AllocatorActionKind::segment_unmap:
      return shrink(time, action.address, bytes);
    case AllocatorActionKind::oom:
      return;
  }
}

bool AllocatorCheck::covered(std::uint64_t address, std::int64_t bytes) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return false;
  return address + static_cast<std::uint64_t>(bytes) <= std::prev(after)->second;
}

bool AllocatorCheck::in_use(std::uint64_t address, std::int64_t bytes) const {
  const auto after = blocks_.lower_bound(address);
  if (after != blocks_.end() && after->first < address + static_cast<std::uint64_t>(bytes)) {
    return true;
  }
  if (after == blocks_.begin()) return false;
  const auto& [begin, block] = *std::prev(after);
  return begin + static_cast<std::uint64_t>(std::max(block.bytes, block.requested)) > address;
}

void AllocatorCheck::allocate(SimTime time, std::uint64_t address, std::int64_t bytes) {
  const auto what = [&] { return fmt::format("a block of {} bytes at {:#x}", bytes, address); };
  const bool lies = covered(address, bytes);
  if (!log_.holds(Invariant::allocator_blocks, lies && !in_use(address, bytes))) {
    expect(Invariant::allocator_blocks, false, time, what(),
           lies ? "no other block there" : "a segment there");
  }
  blocks_[address] = Block{bytes, -1, false};
  unknown_.push_back(address);
}

void AllocatorCheck::let_go(SimTime time, std::uint64_t address, std::int64_t bytes) {
  const auto at = blocks_.find(address);
  const bool known = at != blocks_.end() && !at->second.pending;
  if (!log_.holds(Invariant::allocator_blocks, known && bytes >= at->second.requested)) {
    expect(Invariant::allocator_blocks, false, time,
           fmt::format("a free of {} bytes at {:#x}", bytes, address),
           known ? fmt::format("the {} bytes asked for", at->second.requested)
                 : "one of a block in use");
  }
  if (!known) return;
  if (at->second.bytes >= 0 &&
      !log_.holds(Invariant::allocator_balance, at->second.bytes == bytes)) {
    expect(Invariant::allocator_balance, false, time,
           fmt::format("a free of {} bytes at {:#x}", bytes, address),
           fmt::format("the {} bytes of the block", at->second.bytes));
  }
  at->second.bytes = bytes;
  at->second.pending = true;
  allocated_ -= bytes;
}

void AllocatorCheck::complete(SimTime time, std::uint64_t address) {
  const auto at = blocks_.find(address);
  const bool known = at != blocks_.end() && at->second.pending;
  if (!log_.holds(Invariant::allocator_blocks, known)) {
    return expect(Invariant::allocator_blocks, false, time,
                  fmt::format("the end of a free at {:#x}", address), "one of a block let go");
  }
  blocks_.erase(at);
}

/// Ranges that touch become one: expandable segments grow page by page.
void AllocatorCheck::grow(SimTime time, std::uint64_t address, std::int64_t bytes) {
  const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
  auto next = ranges_.lower_bound(address);
  const bool over_next = next != ranges_.end() && next->first < end;
  const bool over_last = next != ranges_.begin() && std::prev(next)->second > address;
  if (!log_.holds(Invariant::allocator_blocks, bytes > 0 && !over_next && !over_last)) {
    return expect(Invariant::allocator_blocks, false, time,
                  fmt::format("a segment of {} bytes at {:#x}", bytes, address),
                  "no other segment there");
  }
  reserved_ += bytes;
  std::uint64_t begin = address;
  std::uint64_t last = end;
  if (next != ranges_.end() && next->first == end) {
    last = next->second;
    next = ranges_.erase(next);
  }
  if (next != ranges_.begin() && std::prev(next)->second == address) {
    begin = std::prev(next)->first;
  }
  ranges_[begin] = last;
}

void AllocatorCheck::shrink(SimTime time, std::uint64_t address, std::int64_t bytes) {
  const bool there = covered(address, bytes);
  if (!log_.holds(Invariant::allocator_blocks, there && !in_use(address, bytes))) {
    expect(Invariant::allocator_blocks, false, time,
           fmt::format("{} bytes at {:#x} given back", bytes, address),
           there ? "no block in use there" : "a segment there");
  }
  if (!there) return;
  reserved_ -= bytes;
  const auto range = std::prev(ranges_.upper_bound(address));
  const std::uint64_t end = address + static_cast<std::uint64_t>(bytes);
  const std::uint64_t last = range->second;
  if (range->first == address) {
    ranges_.erase(range);
  } else {
    range->second = address;
  }
  if (end < last) ranges_[end] = last;
}

void AllocatorCheck::counted(SimTime time, simcore::Bytes allocated, simcore::Bytes reserved) {
  if (unknown_.size() == 1) {
    const auto at = blocks_.find(unknown_.front());
    if (at != blocks_.end() && at->second.bytes < 0) {
      const std::int64_t bytes = allocated.count - allocated_;
      if (!log_.holds(Invariant::allocator_balance, bytes >= at->second.requested)) {
        expect(Invariant::allocator_balance, false, time, fmt::format("{} more bytes", bytes),
               fmt::format("the {} bytes asked for", at->second.requested));
      }
      at->second.bytes = bytes;
      allocated_ += bytes;
    }
  }
  unknown_.clear();
  const bool good = allocated.count == allocated_ && reserved.count == reserved_ &&
                    allocated.count >= 0 && reserved >= allocated;
  if (log_.holds(Invariant::allocator_balance, good)) return;
  expect(
      Invariant::allocator_balance, false, time,
      fmt::format("{} bytes allocated and {} reserved", allocated.count, reserved.count),
      fmt::format("{} and {}, not negative, and no more than are reserved", allocated_, reserved_));
}

void AllocatorCheck::compare_segment(SimTime now, const cuda::SegmentSnapshot& segment) {
  std::uint64_t next = segment.address;
  std::int64_t bytes = 0;
  for (const cuda::BlockSnapshot& block : segment.blocks) {
    expect(Invariant::allocator_tiles, block.address == next && block.bytes.count > 0, now,
           fmt::format("a block of {} bytes at {:#x}", block.bytes.count, block.address),
           fmt::format("one at {:#x}", next));
    next = block.address + static_cast<std::uint64_t>(block.bytes.count);
    if (block.state != cuda::BlockState::unmapped) bytes += block.bytes.count;
    const auto at = blocks_.find(block.address);
    const bool used = block.state == cuda::BlockState::allocated;
    const bool pending = block.state == cuda::BlockState::pending;
    const bool agrees = at == blocks_.end() ? !used && !pending
                                            : (at->second.pending ? pending : used) &&
                                                  at->second.bytes == block.bytes.count;
    expect(Invariant::allocator_tiles, agrees, now,
           fmt::format("a block of {} bytes at {:#x}, {}", block.bytes.count, block.address,
                       used      ? "in use"
                       : pending ? "pending"
                                 : "free"),
           "what was handed out and let go");
  }
  expect(Invariant::allocator_tiles, bytes == segment.bytes.count, now,
         fmt::format("blocks of {} bytes in the segment at {:#x}", bytes, segment.address),
         fmt::format("{} bytes", segment.bytes.count));
}

void AllocatorCheck::compare(SimTime now, const std::vector<cuda::SegmentSnapshot>& segments) {
  std::int64_t reserved = 0;
  std::size_t blocks = 0;
  for (const cuda::SegmentSnapshot& segment : segments) {
    compare_segment(now, segment);
    reserved += segment.bytes.count;
    blocks += static_cast<std::size_t>(
        std::ranges::count_if(segment.blocks, [](const cuda::BlockSnapshot& block) {
          return block.state == cuda::BlockState::allocated ||
                 block.state == cuda::BlockState::pending;
        }));
  }
  expect(Invariant::allocator_balance, reserved == reserved_, now,
         fmt::format("segments of {} bytes", reserved), fmt::format("{} bytes", reserved_));
  expect(Invariant::allocator_balance, blocks == blocks_.size(), now,
         fmt::format("{} blocks in use", blocks), fmt::format("{}", blocks_.size()));
}

}  // namespace shardsim::scenario

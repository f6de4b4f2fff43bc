#include <cstdint>

#include <doctest/doctest.h>

#include "caching_allocator_fixture.hpp"

using namespace shardsim::cuda;
using namespace shardsim::cuda::allocator_tests;
using Outcome = CachingAllocator::Outcome;

namespace {

AllocatorSpec expandable() {
  AllocatorSpec spec;
  spec.expandable_segments = true;
  return spec;
}

}  // namespace

TEST_CASE("an expandable segment grows in pages of 2 MiB (small) and 20 MiB (large)") {
  CachingAllocator allocator(expandable(), gib(1));
  take(allocator, kib(4));
  CHECK(allocator.statistics().reserved == mib(2));
  take(allocator, mib(30));
  CHECK(allocator.statistics().reserved == mib(42));
  // 10 MiB are left of the second page; 5 more MiB need a third.
  take(allocator, mib(15));
  CHECK(allocator.statistics().reserved == mib(62));
  CHECK(allocator.statistics().num_device_alloc == 3);
  const auto segments = allocator.snapshot();
  REQUIRE(segments.size() == 2);
  CHECK(segments[1].expandable);
  CHECK(segments[1].bytes == mib(60));
  // 30 and 15 MiB handed out, 15 MiB free, the rest of the addresses without memory.
  REQUIRE(segments[1].blocks.size() == 4);
  CHECK(segments[1].blocks[2].bytes == mib(15));
  CHECK(segments[1].blocks[3].state == BlockState::unmapped);
}

TEST_CASE("expandable segments split off 512 B in the large pool too") {
  CachingAllocator allocator(expandable(), gib(1));
  CHECK(allocator.allocate(mib(20) - Bytes{512}, 0, MemoryKind::other).bytes ==
        mib(20) - Bytes{512});
  CHECK(allocator.statistics().reserved == mib(20));
  // Not counted: pages of expandable segments can be given back.
  CHECK(allocator.statistics().inactive_split == Bytes{0});
}

TEST_CASE("growing sizes reuse an expandable segment where plain segments pile up") {
  CachingAllocator plain(AllocatorSpec{}, gib(4));
  CachingAllocator grown(expandable(), gib(4));
  for (int size = 100; size < 140; size += 4) {
    drop(plain, take(plain, mib(size)));
    drop(grown, take(grown, mib(size)));
  }
  CHECK(plain.statistics().reserved == mib((100 + 136) * 10 / 2));
  CHECK(grown.statistics().reserved == mib(140));
}

TEST_CASE("a closed free block is preferred to the tail that can grow") {
  CachingAllocator allocator(expandable(), gib(1));
  const BlockId hole = take(allocator, mib(12));
  take(allocator, mib(21));  // leaves a tail of 7 MiB in the second page
  const auto at = addresses(allocator, BlockState::allocated);
  drop(allocator, hole);
  // The tail of 7 MiB is the smallest that fits 6 MiB, but counts as large as it could grow.
  take(allocator, mib(6));
  CHECK(addresses(allocator, BlockState::allocated).front() == at.front());
  CHECK(allocator.statistics().reserved == mib(40));
}

TEST_CASE("each stream and pool has an expandable segment of its own") {
  CachingAllocator allocator(expandable(), gib(1));
  take(allocator, mib(4), 0);
  take(allocator, mib(4), 1);
  take(allocator, kib(4), 0);
  CHECK(allocator.snapshot().size() == 3);
  CHECK(allocator.statistics().reserved == mib(42));
}

TEST_CASE("a full device takes back the empty pages of expandable segments") {
  CachingAllocator allocator(expandable(), mib(100));
  const BlockId first = take(allocator, mib(30));
  const BlockId second = take(allocator, mib(30));
  CHECK(allocator.statistics().reserved == mib(60));
  drop(allocator, first);
  // Stream 1 needs three pages, two are left; of the free 30 MiB one page is empty.
  const auto result = allocator.allocate(mib(50), 1, MemoryKind::other);
  CHECK(result.outcome == Outcome::allocated);
  CHECK(result.freed_segments == 1);
  CHECK(allocator.statistics().reserved == mib(40 + 60));
  CHECK(allocator.statistics().num_alloc_retries == 1);
  // What is left of the split page stays usable.
  const auto rest = allocator.allocate(mib(10), 0, MemoryKind::other);
  CHECK(rest.outcome == Outcome::allocated);
  CHECK_FALSE(rest.device_malloc);
  drop(allocator, second);
}

TEST_CASE("unmapped gaps are filled again, lowest address first") {
  CachingAllocator allocator(expandable(), mib(120));
  const BlockId first = take(allocator, mib(40));
  const BlockId second = take(allocator, mib(40));
  const auto at = addresses(allocator, BlockState::allocated);
  drop(allocator, first);
  const BlockId other = take(allocator, mib(80), 1);  // unmaps the first two pages
  CHECK(allocator.statistics().num_alloc_retries == 1);
  drop(allocator, other);
  const auto again = allocator.allocate(mib(30), 0, MemoryKind::other);
  CHECK(again.outcome == Outcome::allocated);
  CHECK(addresses(allocator, BlockState::allocated).front() == at.front());
  drop(allocator, second);
}

TEST_CASE("an expandable segment without memory or blocks ends") {
  CachingAllocator allocator(expandable(), mib(60));
  drop(allocator, take(allocator, mib(40), 0));
  CHECK(allocator.snapshot().size() == 1);
  take(allocator, mib(60), 1);
  const auto segments = allocator.snapshot();
  REQUIRE(segments.size() == 1);
  CHECK(segments[0].stream == 1);
}

TEST_CASE("an expandable request beyond the device is out of memory and leaves the rest usable") {
  CachingAllocator allocator(expandable(), mib(100));
  const BlockId block = take(allocator, mib(20));
  CHECK(allocator.allocate(mib(90), 0, MemoryKind::other).outcome == Outcome::out_of_memory);
  CHECK(allocator.allocate(gib(900), 0, MemoryKind::other).outcome == Outcome::out_of_memory);
  CHECK(allocator.statistics().num_ooms == 2);
  drop(allocator, block);
  CHECK(allocator.allocate(mib(100), 0, MemoryKind::other).outcome == Outcome::allocated);
}

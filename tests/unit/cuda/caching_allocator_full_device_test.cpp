#include <string>

#include <doctest/doctest.h>

#include "caching_allocator_fixture.hpp"

using namespace shardsim::cuda;
using namespace shardsim::cuda::allocator_tests;
using Outcome = CachingAllocator::Outcome;

TEST_CASE("a full device gives back unsplit cached segments and tries again") {
  CachingAllocator allocator(AllocatorSpec{}, mib(100));
  const BlockId kept = take(allocator, mib(4));  // splits a 20 MiB segment
  drop(allocator, take(allocator, mib(30)));     // unsplit, cached
  drop(allocator, take(allocator, kib(4)));      // unsplit again, small pool
  drop(allocator, take(allocator, mib(24), 1));  // unsplit, another stream's
  CHECK(allocator.statistics().reserved == mib(76));

  const auto result = allocator.allocate(mib(60), 0, MemoryKind::other);
  CHECK(result.outcome == Outcome::allocated);
  CHECK(result.freed_segments == 3);
  CHECK(result.device_malloc);
  CHECK(allocator.statistics().num_alloc_retries == 1);
  CHECK(allocator.statistics().reserved == mib(80));
  // The split segment with a block in use is still there.
  CHECK(allocator.statistics().inactive_split == mib(16));
  drop(allocator, kept);
}

TEST_CASE("a retry does not free a segment of which a part is in use") {
  CachingAllocator allocator(AllocatorSpec{}, mib(40));
  take(allocator, mib(4));
  const auto result = allocator.allocate(mib(30), 0, MemoryKind::other);
  CHECK(result.outcome == Outcome::out_of_memory);
  CHECK(result.block == CachingAllocator::no_block);
  CHECK(result.freed_segments == 0);
  CHECK(allocator.statistics().reserved == mib(20));
  CHECK(allocator.statistics().num_alloc_retries == 1);
  CHECK(allocator.statistics().num_ooms == 1);
}

TEST_CASE("capacity is met exactly and not exceeded") {
  CachingAllocator allocator(AllocatorSpec{}, mib(64));
  take(allocator, mib(44));
  CHECK(allocator.allocate(mib(20), 0, MemoryKind::other).outcome == Outcome::allocated);
  CHECK(allocator.allocate(Bytes{1}, 0, MemoryKind::other).outcome == Outcome::out_of_memory);
  CHECK(allocator.statistics().reserved == mib(64));
}

TEST_CASE("a full device with pending blocks makes the CPU wait before anything is freed") {
  CachingAllocator allocator(AllocatorSpec{}, mib(64));
  const BlockId pending = take(allocator, mib(40));
  allocator.record_stream(pending, 1);
  drop_with_event(allocator, pending, 0);
  drop(allocator, take(allocator, mib(20)));

  const auto first = allocator.allocate(mib(30), 0, MemoryKind::other);
  CHECK(first.outcome == Outcome::wait_for_pending);
  CHECK(first.freed_segments == 0);
  CHECK(allocator.statistics().num_alloc_retries == 0);
  complete_all(allocator);
  // The retry frees what came back rather than search it: PyTorch goes straight to the device.
  const auto second = allocator.allocate(mib(30), 0, MemoryKind::other);
  CHECK(second.outcome == Outcome::allocated);
  CHECK(second.freed_segments == 2);
  CHECK(second.device_malloc);
  CHECK(allocator.statistics().num_alloc_retries == 1);
  CHECK(allocator.statistics().reserved == mib(30));
  CHECK(allocator.statistics().num_ooms == 0);
}

TEST_CASE("waiting does not help a request that cannot fit") {
  CachingAllocator allocator(AllocatorSpec{}, mib(64));
  const BlockId pending = take(allocator, mib(40));
  allocator.record_stream(pending, 1);
  drop_with_event(allocator, pending, 0);
  CHECK(allocator.allocate(mib(80), 0, MemoryKind::other).outcome == Outcome::wait_for_pending);
  complete_all(allocator);
  CHECK(allocator.allocate(mib(80), 0, MemoryKind::other).outcome == Outcome::out_of_memory);
  // The next request is an ordinary one again.
  CHECK(allocator.allocate(mib(64), 0, MemoryKind::other).outcome == Outcome::allocated);
  CHECK(allocator.statistics().num_alloc_retries == 1);
}

TEST_CASE("absurd requests are out of memory, not overflow") {
  CachingAllocator allocator(AllocatorSpec{}, Bytes{INT64_MAX});
  CHECK(allocator.allocate(Bytes{INT64_MAX}, 0, MemoryKind::other).outcome ==
        Outcome::out_of_memory);
  CHECK(allocator.allocate(largest_request, 0, MemoryKind::other).outcome == Outcome::allocated);
  CHECK(allocator.statistics().num_ooms == 1);
}

TEST_CASE("a shortage names the request, the segment and where the memory is") {
  CachingAllocator allocator(AllocatorSpec{}, mib(100));
  take(allocator, mib(40), 0, MemoryKind::parameters);
  take(allocator, mib(12), 0, MemoryKind::activations);
  const BlockId pending = take(allocator, mib(16), 0, MemoryKind::gathered_parameters);
  allocator.record_stream(pending, 1);
  drop_with_event(allocator, pending, 0);
  drop(allocator, take(allocator, mib(10), 0));
  drop(allocator, take(allocator, mib(14), 1));

  const MemoryShortage shortage = allocator.shortage(mib(51), 0);
  CHECK(shortage.requested == mib(51));
  CHECK(shortage.segment == mib(52));
  CHECK(shortage.capacity == mib(100));
  CHECK(shortage.reserved == mib(92));
  CHECK(shortage.allocated == mib(52));
  CHECK(shortage.pending == mib(16));
  CHECK(shortage.cached == mib(24));
  CHECK(shortage.largest_cached == mib(10));  // the other stream's 14 MiB are of no use
  CHECK(to_text(shortage) ==
        "out of memory: 51 MiB requested (a segment of 52 MiB), 92 MiB of 100 MiB reserved: "
        "52 MiB allocated (parameters 40 MiB, activations 12 MiB), "
        "16 MiB freed but in use on other streams, "
        "24 MiB cached, of which the largest block for this request is 10 MiB");
}

TEST_CASE("a memory fraction limits the pools below the capacity") {
  AllocatorSpec spec;
  spec.memory_fraction = shardsim::simcore::Fraction{0.5};
  CachingAllocator allocator(spec, mib(90), mib(100));
  take(allocator, mib(40));
  CHECK(allocator.allocate(mib(12), 0, MemoryKind::other).outcome == Outcome::out_of_memory);
  CHECK(allocator.allocate(mib(10), 0, MemoryKind::other).outcome == Outcome::allocated);
}

TEST_CASE("garbage collection frees the older unsplit segments above the threshold") {
  AllocatorSpec spec;
  spec.memory_fraction = shardsim::simcore::Fraction{1};
  spec.garbage_collection_threshold = shardsim::simcore::Fraction{0.5};
  CachingAllocator allocator(spec, mib(200));
  const BlockId old_block = take(allocator, mib(30));
  const BlockId young_block = take(allocator, mib(40));
  const BlockId split_block = take(allocator, mib(4));
  drop(allocator, old_block);
  for (int i = 0; i < 5; ++i) drop(allocator, take(allocator, mib(4)));  // ages it
  drop(allocator, young_block);
  CHECK(allocator.statistics().reserved == mib(90));

  // Below the threshold of 100 MiB nothing is freed.
  take(allocator, mib(60));
  CHECK(allocator.statistics().num_device_free == 0);
  CHECK(allocator.statistics().reserved == mib(150));
  // 50 MiB too much: the old one goes first, with an age above the average; then the young one.
  const auto result = allocator.allocate(mib(44), 0, MemoryKind::other);
  CHECK(result.freed_segments == 2);
  CHECK(allocator.statistics().reserved == mib(124));
  CHECK(allocator.statistics().num_alloc_retries == 0);
  drop(allocator, split_block);
}

TEST_CASE("garbage collection stops after the round that reclaims enough") {
  AllocatorSpec spec;
  spec.memory_fraction = shardsim::simcore::Fraction{1};
  spec.garbage_collection_threshold = shardsim::simcore::Fraction{0.5};
  CachingAllocator allocator(spec, mib(200));
  const BlockId old_block = take(allocator, mib(60));
  const BlockId young_block = take(allocator, mib(50));
  const BlockId split_block = take(allocator, mib(4));
  drop(allocator, old_block);
  for (int i = 0; i < 5; ++i) drop(allocator, take(allocator, mib(4)));
  drop(allocator, young_block);
  // 130 MiB reserved, 30 too much: freeing the old 60 MiB does it.
  const auto result = allocator.allocate(mib(64), 0, MemoryKind::other);
  CHECK(result.freed_segments == 1);
  CHECK(allocator.statistics().reserved == mib(134));
  drop(allocator, split_block);
}

TEST_CASE("without a memory fraction the garbage collection threshold has no effect") {
  AllocatorSpec spec;
  spec.garbage_collection_threshold = shardsim::simcore::Fraction{0.1};
  CachingAllocator allocator(spec, mib(200));
  drop(allocator, take(allocator, mib(30)));
  CHECK(allocator.allocate(mib(60), 0, MemoryKind::other).freed_segments == 0);
}

TEST_CASE("blocks of at least max_split_size are neither split nor given to small requests") {
  AllocatorSpec spec;
  spec.max_split_size = mib(64);
  CachingAllocator allocator(spec, gib(1));
  drop(allocator, take(allocator, mib(100)));
  // A request below the limit does not take the oversize block.
  CHECK(allocator.allocate(mib(40), 0, MemoryKind::other).device_malloc);
  // One above it takes it whole, unless it is 20 MiB too large or more.
  CHECK(allocator.allocate(mib(80), 0, MemoryKind::other).device_malloc);
  const auto near = allocator.allocate(mib(80) + Bytes{512}, 0, MemoryKind::other);
  CHECK_FALSE(near.device_malloc);
  CHECK(near.bytes == mib(100));
  CHECK(allocator.statistics().inactive_split == Bytes{0});
}

TEST_CASE("with max_split_size a full device first gives back just enough oversize blocks") {
  AllocatorSpec spec;
  spec.max_split_size = mib(32);
  CachingAllocator allocator(spec, mib(200));
  BlockId blocks[4];
  const std::int64_t sizes[] = {34, 36, 60, 50};
  for (int i = 0; i < 4; ++i) blocks[i] = take(allocator, mib(sizes[i]));
  for (const BlockId block : blocks) drop(allocator, block);

  SUBCASE("one that is large enough goes") {
    // A request below the limit looks for a block of at least the limit.
    const auto result = allocator.allocate(mib(30), 0, MemoryKind::other);
    CHECK(result.freed_segments == 1);
    CHECK(allocator.statistics().reserved == mib(180 - 34 + 30));
  }
  SUBCASE("otherwise the largest go until they are enough together") {
    const auto result = allocator.allocate(mib(100), 0, MemoryKind::other);
    CHECK(result.freed_segments == 2);
    CHECK(allocator.statistics().reserved == mib(34 + 36 + 100));
  }
  CHECK(allocator.statistics().num_alloc_retries == 0);
}

TEST_CASE("oversize blocks of another stream are not given back by themselves") {
  AllocatorSpec spec;
  spec.max_split_size = mib(32);
  CachingAllocator allocator(spec, mib(100));
  drop(allocator, take(allocator, mib(80), 0));
  CHECK(allocator.allocate(mib(40), 1, MemoryKind::other).outcome == Outcome::allocated);
  // It took the general retry.
  CHECK(allocator.statistics().num_alloc_retries == 1);
}

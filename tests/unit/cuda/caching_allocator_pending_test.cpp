#include <algorithm>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "caching_allocator_fixture.hpp"

using namespace shardsim::cuda;
using namespace shardsim::cuda::allocator_tests;

namespace {

/// Completes the events whose key is below `bound`.
void complete_below(CachingAllocator& allocator, EventKey bound) {
  allocator.process_events([bound](EventKey event) { return event < bound; });
}

}  // namespace

TEST_CASE("a block used on another stream waits for that stream's event") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId block = take(allocator, mib(30), 0);
  allocator.record_stream(block, 2);
  drop_with_event(allocator, block, 7);

  CHECK(allocator.has_pending());
  CHECK(allocator.statistics().allocated == Bytes{0});
  CHECK(allocator.statistics().active == mib(30));
  complete_below(allocator, 7);
  CHECK(allocator.allocate(mib(30), 0, MemoryKind::other).device_malloc);

  complete_below(allocator, 8);
  CHECK_FALSE(allocator.has_pending());
  CHECK(allocator.statistics().active == mib(30));
  CHECK_FALSE(allocator.allocate(mib(30), 0, MemoryKind::other).device_malloc);
}

TEST_CASE("free names each other stream once, in increasing order") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId block = take(allocator, mib(2), 3);
  for (const int stream : {5, 1, 3, 5, 2, 1, 3}) {
    allocator.record_stream(block, static_cast<StreamId>(stream));
  }
  const auto streams = allocator.free(block);
  CHECK(std::vector<StreamId>(streams.begin(), streams.end()) == std::vector<StreamId>{1, 2, 5});
}

TEST_CASE("recording the stream of the allocation has no effect") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId block = take(allocator, mib(2), 3);
  allocator.record_stream(block, 3);
  CHECK(allocator.free(block).empty());
  CHECK(allocator.statistics().active == Bytes{0});
}

TEST_CASE("the streams recorded for a block end with its free") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId first = take(allocator, mib(30));
  allocator.record_stream(first, 1);
  drop_with_event(allocator, first, 0);
  complete_all(allocator);
  const BlockId second = take(allocator, mib(30));
  CHECK(allocator.free(second).empty());
}

TEST_CASE("a block used on several streams waits for all of them") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId block = take(allocator, mib(30), 0);
  allocator.record_stream(block, 1);
  allocator.record_stream(block, 2);
  std::ranges::for_each(allocator.free(block), [&](StreamId stream) {
    allocator.add_pending_event(block, stream, stream);
  });
  complete_below(allocator, 2);
  CHECK(allocator.statistics().active == mib(30));
  complete_below(allocator, 3);
  CHECK(allocator.statistics().active == Bytes{0});
}

TEST_CASE("a stream's events are taken in order, up to the first that is not complete") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  BlockId blocks[3];
  for (BlockId& block : blocks) {
    block = take(allocator, mib(16), 0);
    allocator.record_stream(block, 1);
  }
  const BlockId other = take(allocator, mib(16), 0);
  allocator.record_stream(other, 2);
  for (std::uint64_t i = 0; i < 3; ++i) drop_with_event(allocator, blocks[i], 10 + i);
  drop_with_event(allocator, other, 20);

  // The head of stream 1 is not complete: its later events are not even asked about, stream 2's is.
  std::vector<EventKey> asked;
  allocator.process_events([&](EventKey event) {
    asked.push_back(event);
    return event != 10;
  });
  CHECK(asked == std::vector<EventKey>{10, 20});
  CHECK(allocator.statistics().active == mib(48));

  std::vector<EventKey> left;
  allocator.for_each_pending_event([&](StreamId stream, EventKey event) {
    CHECK(stream == 1);
    left.push_back(event);
  });
  CHECK(left == std::vector<EventKey>{10, 11, 12});
  complete_below(allocator, 12);
  CHECK(allocator.statistics().active == mib(16));
}

TEST_CASE("a pending block does not merge with its neighbours") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId first = take(allocator, mib(8));
  const BlockId second = take(allocator, mib(8));
  allocator.record_stream(first, 1);
  drop_with_event(allocator, first, 0);
  drop(allocator, second);
  CHECK(addresses(allocator, BlockState::cached).size() == 1);
  CHECK(allocator.statistics().inactive_split == mib(12));
  complete_all(allocator);
  CHECK(allocator.snapshot()[0].blocks.size() == 1);
  CHECK(allocator.statistics().inactive_split == Bytes{0});
}

TEST_CASE("queues of pending frees stay in order however long they grow") {
  CachingAllocator allocator(AllocatorSpec{}, gib(64));
  EventKey next = 0;
  EventKey done = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 7; ++i) {
      const BlockId block = take(allocator, kib(64));
      allocator.record_stream(block, 1);
      drop_with_event(allocator, block, next++);
    }
    const EventKey bound = done + static_cast<EventKey>(round % 13);
    allocator.process_events([&](EventKey event) {
      REQUIRE(event == done);
      if (event >= bound) return false;
      ++done;
      return true;
    });
    REQUIRE(allocator.statistics().active == kib(64) * static_cast<std::int64_t>(next - done));
  }
}

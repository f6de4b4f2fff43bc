#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

#include "caching_allocator_fixture.hpp"

using namespace shardsim::cuda;
using namespace shardsim::cuda::allocator_tests;

TEST_CASE("a freed block is taken again without asking the device") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  drop(allocator, take(allocator, mib(30)));
  CHECK(allocator.statistics().allocated == Bytes{0});
  CHECK(allocator.statistics().reserved == mib(30));
  const auto again = allocator.allocate(mib(30), 0, MemoryKind::other);
  CHECK_FALSE(again.device_malloc);
  CHECK(allocator.statistics().num_device_alloc == 1);
}

TEST_CASE("the smallest cached block that fits is taken") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  std::vector<BlockId> blocks;
  for (const int size : {60, 40, 50, 32}) blocks.push_back(take(allocator, mib(size)));
  for (const BlockId block : blocks) drop(allocator, block);
  // 40 MiB: the smallest of at least 39; the remainder of 1 MiB stays with it.
  CHECK(allocator.allocate(mib(39), 0, MemoryKind::other).bytes == mib(40));
}

TEST_CASE("among cached blocks of one size the lowest address is taken") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  std::vector<BlockId> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(take(allocator, mib(16)));
  const auto at = addresses(allocator, BlockState::allocated);
  // Freed from the highest address down: the order of freeing must not decide.
  for (int i = 3; i >= 0; --i) drop(allocator, blocks[static_cast<std::size_t>(i)]);
  for (std::size_t i = 0; i < 4; ++i) {
    take(allocator, mib(16));
    CHECK(addresses(allocator, BlockState::allocated).back() == at[i]);
  }
}

TEST_CASE("any larger cached block serves a request, however large") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  drop(allocator, take(allocator, mib(512)));
  const auto result = allocator.allocate(mib(2), 0, MemoryKind::other);
  CHECK_FALSE(result.device_malloc);
  CHECK(result.bytes == mib(2));
  CHECK(allocator.statistics().inactive_split == mib(510));
}

TEST_CASE("a block freed on one stream is not given to another") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  drop(allocator, take(allocator, mib(30), 0));
  const auto other = allocator.allocate(mib(30), 1, MemoryKind::other);
  CHECK(other.device_malloc);
  CHECK(allocator.statistics().reserved == mib(60));
  const auto own = allocator.allocate(mib(30), 0, MemoryKind::other);
  CHECK_FALSE(own.device_malloc);
}

TEST_CASE("the small and the large pool do not share segments") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  drop(allocator, take(allocator, mib(20)));
  CHECK(allocator.allocate(kib(4), 0, MemoryKind::other).device_malloc);
  CHECK(allocator.statistics().reserved == mib(22));
}

TEST_CASE("small requests pack into one segment") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  for (int i = 0; i < 4096; ++i) take(allocator, Bytes{512});
  CHECK(allocator.statistics().reserved == mib(2));
  CHECK(allocator.statistics().inactive_split == Bytes{0});
  take(allocator, Bytes{512});
  CHECK(allocator.statistics().reserved == mib(4));
}

TEST_CASE("freed neighbours merge, in whatever order they are freed") {
  const std::vector<std::vector<std::size_t>> orders{{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  for (const auto& order : orders) {
    CachingAllocator allocator(AllocatorSpec{}, gib(1));
    const BlockId blocks[] = {take(allocator, mib(4)), take(allocator, mib(5)),
                              take(allocator, mib(6))};
    CHECK(allocator.statistics().inactive_split == mib(5));
    for (const std::size_t index : order) drop(allocator, blocks[index]);
    const auto segments = allocator.snapshot();
    REQUIRE(segments.size() == 1);
    CHECK(segments[0].blocks.size() == 1);
    CHECK(allocator.statistics().inactive_split == Bytes{0});
    CHECK(allocator.statistics().active == Bytes{0});
  }
}

TEST_CASE("a free block does not merge over a neighbour in use") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId first = take(allocator, mib(6));
  const BlockId second = take(allocator, mib(6));
  const BlockId third = take(allocator, mib(6));
  drop(allocator, first);
  drop(allocator, third);
  CHECK(addresses(allocator, BlockState::cached).size() == 2);
  CHECK(allocator.statistics().inactive_split == mib(14));
  CHECK(allocator.allocate(mib(9), 0, MemoryKind::other).device_malloc);
  drop(allocator, second);
  CHECK_FALSE(allocator.allocate(mib(15), 0, MemoryKind::other).device_malloc);
}

TEST_CASE("a moved allocator goes on with its state") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId block = take(allocator, mib(3));
  CachingAllocator moved(std::move(allocator));
  drop(moved, block);
  CHECK_FALSE(moved.allocate(mib(20), 0, MemoryKind::other).device_malloc);
}

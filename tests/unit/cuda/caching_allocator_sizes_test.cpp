#include <doctest/doctest.h>

#include "caching_allocator_fixture.hpp"
#include "models/cuda/allocator_sizes.hpp"

using namespace shardsim::cuda;
using namespace shardsim::cuda::allocator_tests;

TEST_CASE("block sizes are whole multiples of 512 B") {
  CHECK(block_size(Bytes{1}) == Bytes{512});
  CHECK(block_size(Bytes{511}) == Bytes{512});
  CHECK(block_size(Bytes{512}) == Bytes{512});
  CHECK(block_size(Bytes{513}) == Bytes{1024});
  CHECK(block_size(mib(1) - Bytes{1}) == mib(1));
  CHECK(block_size(mib(1) + Bytes{1}) == mib(1) + Bytes{512});
  CHECK(block_size(largest_request) == largest_request);
}

TEST_CASE("requests up to 1 MiB come from the small pool") {
  CHECK(pool_of(Bytes{512}) == MemoryPool::small);
  CHECK(pool_of(mib(1)) == MemoryPool::small);
  CHECK(pool_of(mib(1) + Bytes{512}) == MemoryPool::large);
}

TEST_CASE("segments take 2 MiB, 20 MiB or the request rounded up to 2 MiB") {
  CHECK(segment_size(Bytes{512}) == mib(2));
  CHECK(segment_size(mib(1)) == mib(2));
  CHECK(segment_size(mib(1) + Bytes{512}) == mib(20));
  CHECK(segment_size(mib(10) - Bytes{512}) == mib(20));
  CHECK(segment_size(mib(10)) == mib(10));
  CHECK(segment_size(mib(10) + Bytes{512}) == mib(12));
  CHECK(segment_size(mib(20)) == mib(20));
  CHECK(segment_size(mib(21)) == mib(22));
}

TEST_CASE("power-of-two divisions space sizes evenly between powers of two") {
  // 1200 with four divisions lies between 1024 and 2048, in steps of 256; but sizes of at most
  // divisions * 512 B keep the rounding to 512 B.
  CHECK(block_size(Bytes{1200}, 4) == Bytes{1536});
  CHECK(block_size(Bytes{2048}, 4) == Bytes{2048});
  CHECK(block_size(Bytes{2049}, 4) == Bytes{2560});
  CHECK(block_size(mib(9), 4) == mib(10));
  CHECK(block_size(mib(8), 4) == mib(8));
  CHECK(block_size(mib(15), 4) == mib(16));
  CHECK(block_size(mib(9), 1) == mib(9));
}

TEST_CASE("a first request reserves its segment and caches the rest") {
  struct Case {
    Bytes request;
    Bytes allocated;
    Bytes reserved;
  };
  const Case cases[] = {
      {Bytes{1}, Bytes{512}, mib(2)},
      {mib(1), mib(1), mib(2)},
      {mib(1) + Bytes{1}, mib(1) + Bytes{512}, mib(20)},
      {mib(10) - Bytes{1}, mib(10), mib(10)},
      {mib(10) - Bytes{512}, mib(10) - Bytes{512}, mib(20)},
      {mib(10), mib(10), mib(10)},
      // The remainder of 1 MiB - 512 B is too small to split off: the block is all of it.
      {mib(11) + Bytes{512}, mib(12), mib(12)},
  };
  for (const Case& expected : cases) {
    CAPTURE(expected.request.count);
    CachingAllocator allocator(AllocatorSpec{}, gib(1));
    const auto result = allocator.allocate(expected.request, 0, MemoryKind::other);
    CHECK(result.bytes == expected.allocated);
    CHECK(result.device_malloc);
    CHECK(allocator.statistics().allocated == expected.allocated);
    CHECK(allocator.statistics().reserved == expected.reserved);
    CHECK(allocator.statistics().inactive_split == expected.reserved - expected.allocated);
  }
}

TEST_CASE("a request of zero bytes takes nothing and may be used like any other") {
  CachingAllocator allocator(AllocatorSpec{}, Bytes{0});
  const auto result = allocator.allocate(Bytes{0}, 0, MemoryKind::parameters);
  CHECK(result.outcome == CachingAllocator::Outcome::allocated);
  CHECK(result.block == CachingAllocator::no_block);
  allocator.record_stream(result.block, 1);
  CHECK(allocator.free(result.block).empty());
  CHECK(allocator.statistics() == AllocatorStatistics{});
}

TEST_CASE("the large pool splits off more than 1 MiB, the small pool 512 B and more") {
  SUBCASE("large: exactly 1 MiB is handed out with the block") {
    CachingAllocator allocator(AllocatorSpec{}, gib(1));
    CHECK(allocator.allocate(mib(11), 0, MemoryKind::other).bytes == mib(12));
  }
  SUBCASE("large: 512 B more than 1 MiB is split off") {
    CachingAllocator allocator(AllocatorSpec{}, gib(1));
    const Bytes request = mib(11) - Bytes{512};
    CHECK(allocator.allocate(request, 0, MemoryKind::other).bytes == request);
    CHECK(allocator.statistics().inactive_split == mib(1) + Bytes{512});
  }
  SUBCASE("small: 512 B are split off") {
    CachingAllocator allocator(AllocatorSpec{}, gib(1));
    take(allocator, mib(1));
    const Bytes request = mib(1) - Bytes{512};
    CHECK(allocator.allocate(request, 0, MemoryKind::other).bytes == request);
    CHECK(allocator.statistics().inactive_split == Bytes{512});
    CHECK(allocator.statistics().reserved == mib(2));
  }
}

TEST_CASE("pinned host memory comes in powers of two") {
  CHECK(pinned_block_size(Bytes{1}) == Bytes{1});
  CHECK(pinned_block_size(Bytes{4096}) == Bytes{4096});
  CHECK(pinned_block_size(Bytes{4097}) == Bytes{8192});
  CHECK(pinned_block_size(gib(1024) + Bytes{1}) == gib(2048));
}

#include <numeric>

#include <doctest/doctest.h>

#include "caching_allocator_fixture.hpp"

using namespace shardsim::cuda;
using namespace shardsim::cuda::allocator_tests;

namespace {

Bytes of(const BytesByKind& parts, MemoryKind kind) {
  return parts[static_cast<std::size_t>(kind)];
}

Bytes sum(const BytesByKind& parts) { return std::accumulate(parts.begin(), parts.end(), Bytes{}); }

}  // namespace

TEST_CASE("the peak is attributed to the kinds that were live when it was reached") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  take(allocator, mib(10), 0, MemoryKind::parameters);
  const BlockId activations = take(allocator, mib(50), 0, MemoryKind::activations);
  const BlockId gathered = take(allocator, mib(20), 1, MemoryKind::gathered_parameters);
  drop(allocator, gathered);
  drop(allocator, activations);
  take(allocator, mib(60), 0, MemoryKind::gradients);  // 70 MiB: below the peak of 80

  const AllocatorStatistics& now = allocator.statistics();
  CHECK(now.peak_allocated == mib(80));
  CHECK(of(now.peak_allocated_by_kind, MemoryKind::parameters) == mib(10));
  CHECK(of(now.peak_allocated_by_kind, MemoryKind::activations) == mib(50));
  CHECK(of(now.peak_allocated_by_kind, MemoryKind::gathered_parameters) == mib(20));
  CHECK(of(now.peak_allocated_by_kind, MemoryKind::gradients) == Bytes{0});
  CHECK(of(now.allocated_by_kind, MemoryKind::gradients) == mib(60));
  CHECK(sum(now.peak_allocated_by_kind) == now.peak_allocated);
  CHECK(sum(now.allocated_by_kind) == now.allocated);
}

TEST_CASE("the first moment of a peak that is reached twice counts") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  drop(allocator, take(allocator, mib(30), 0, MemoryKind::activations));
  take(allocator, mib(30), 0, MemoryKind::gradients);
  CHECK(of(allocator.statistics().peak_allocated_by_kind, MemoryKind::activations) == mib(30));
}

TEST_CASE("peaks start again from the present when reset") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  take(allocator, mib(10), 0, MemoryKind::parameters);
  drop(allocator, take(allocator, mib(50), 0, MemoryKind::activations));
  allocator.reset_peaks();
  const AllocatorStatistics& now = allocator.statistics();
  CHECK(now.peak_allocated == mib(10));
  CHECK(now.peak_active == mib(10));
  CHECK(now.peak_reserved == mib(60));
  CHECK(of(now.peak_allocated_by_kind, MemoryKind::activations) == Bytes{0});
  take(allocator, mib(5), 0, MemoryKind::gradients);
  CHECK(now.peak_allocated == mib(15));
  CHECK(of(now.peak_allocated_by_kind, MemoryKind::gradients) == mib(5));
}

TEST_CASE("active outlives allocated by the blocks that other streams still use") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  for (EventKey i = 0; i < 3; ++i) {
    const BlockId block = take(allocator, mib(20));
    allocator.record_stream(block, 1);
    drop_with_event(allocator, block, i);
  }
  CHECK(allocator.statistics().peak_allocated == mib(20));
  CHECK(allocator.statistics().peak_active == mib(60));
  CHECK(allocator.statistics().peak_reserved == mib(60));
}

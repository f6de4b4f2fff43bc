// The record of what the allocator does.
#include <vector>

#include <doctest/doctest.h>

#include "caching_allocator_fixture.hpp"

using namespace shardsim::cuda;
using namespace shardsim::cuda::allocator_tests;
using Kind = AllocatorActionKind;

namespace {

std::vector<Kind> kinds(const std::vector<AllocatorAction>& actions) {
  std::vector<Kind> found;
  for (const AllocatorAction& action : actions) found.push_back(action.kind);
  return found;
}

TEST_CASE("a first allocation takes a segment, and a free goes back to the pool at once") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  std::vector<AllocatorAction> actions;
  allocator.record_actions(&actions);
  drop(allocator, take(allocator, Bytes{1000}, 3));
  REQUIRE(kinds(actions) == std::vector{Kind::segment_alloc, Kind::alloc, Kind::free_requested,
                                        Kind::free_completed});
  CHECK(actions[0].bytes == mib(2));
  CHECK(actions[1].bytes == Bytes{1000});  // as requested
  CHECK(actions[3].bytes == Bytes{1024});  // the block
  for (const AllocatorAction& action : actions) {
    CHECK(action.address == actions[0].address);
    CHECK(action.stream == 3);
  }
}

TEST_CASE("a block in use on another stream is freed when its event has completed") {
  CachingAllocator allocator(AllocatorSpec{}, gib(1));
  const BlockId block = take(allocator, mib(1));
  allocator.record_stream(block, 1);
  std::vector<AllocatorAction> actions;
  allocator.record_actions(&actions);
  drop_with_event(allocator, block, 7);
  CHECK(kinds(actions) == std::vector{Kind::free_requested});
  complete_all(allocator);
  CHECK(kinds(actions) == std::vector{Kind::free_requested, Kind::free_completed});
}

TEST_CASE("a full device shows the freeing of cached segments before the new one") {
  CachingAllocator allocator(AllocatorSpec{}, mib(64));
  std::vector<AllocatorAction> actions;
  allocator.record_actions(&actions);
  drop(allocator, take(allocator, mib(40)));
  actions.clear();
  take(allocator, mib(50));
  CHECK(kinds(actions) == std::vector{Kind::segment_free, Kind::segment_alloc, Kind::alloc});
  CHECK(actions[0].bytes == mib(40));
  CHECK(actions[1].bytes == mib(50));
}

TEST_CASE("expandable segments map and unmap pages") {
  AllocatorSpec spec;
  spec.expandable_segments = true;
  CachingAllocator allocator(spec, mib(64));
  std::vector<AllocatorAction> actions;
  allocator.record_actions(&actions);
  drop(allocator, take(allocator, mib(40)));
  take(allocator, mib(50), 1);  // another stream: the first one's pages have to go
  std::int64_t mapped = 0;
  for (const AllocatorAction& action : actions) {
    if (action.kind == Kind::segment_map) mapped += action.bytes.count;
    if (action.kind == Kind::segment_unmap) mapped -= action.bytes.count;
  }
  CHECK(Bytes{mapped} == allocator.statistics().reserved);
  CHECK(Bytes{mapped} == mib(60));
}

}  // namespace

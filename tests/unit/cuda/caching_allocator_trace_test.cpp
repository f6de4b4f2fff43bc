// Long random traces: what must hold after every call, whatever the options.
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "caching_allocator_fixture.hpp"

using namespace shardsim::cuda;
using namespace shardsim::cuda::allocator_tests;
using Outcome = CachingAllocator::Outcome;

namespace {

/// Segments are apart, blocks tile them, and the counters are their sums.
void check_invariants(const CachingAllocator& allocator, Bytes capacity) {
  Bytes by_state[5] = {};
  BytesByKind by_kind{};
  Bytes reserved;
  Bytes inactive_split;
  std::uint64_t end = 0;
  for (const SegmentSnapshot& segment : allocator.snapshot()) {
    REQUIRE(segment.address >= end);
    end = segment.address;
    reserved += segment.bytes;
    bool after_free = false;
    for (const BlockSnapshot& block : segment.blocks) {
      REQUIRE(block.address == end);
      REQUIRE(block.bytes.count >= 512);
      REQUIRE(block.bytes.count % 512 == 0);
      const bool is_free = block.state == BlockState::cached;
      REQUIRE_FALSE((is_free && after_free));  // neighbours would have merged
      after_free = is_free;
      end += static_cast<std::uint64_t>(block.bytes.count);
      by_state[static_cast<int>(block.state)] += block.bytes;
      if (block.state == BlockState::allocated) {
        by_kind[static_cast<std::size_t>(block.kind)] += block.bytes;
      }
      if (is_free && !segment.expandable && segment.blocks.size() > 1) {
        inactive_split += block.bytes;
      }
    }
  }
  const AllocatorStatistics& now = allocator.statistics();
  const Bytes allocated = by_state[static_cast<int>(BlockState::allocated)];
  const Bytes pending = by_state[static_cast<int>(BlockState::pending)];
  const Bytes cached = by_state[static_cast<int>(BlockState::cached)];
  REQUIRE(now.reserved == reserved);
  REQUIRE(now.allocated == allocated);
  REQUIRE(now.active == allocated + pending);
  REQUIRE(now.active + cached == reserved);
  REQUIRE(now.inactive_split == inactive_split);
  REQUIRE(now.allocated_by_kind == by_kind);
  REQUIRE(now.reserved <= capacity);
  REQUIRE(now.peak_reserved >= now.reserved);
  REQUIRE(now.peak_allocated >= now.allocated);
}

/// The best fit among the cached blocks before a call, found by looking at every one.
std::uint64_t best_fit(const std::vector<SegmentSnapshot>& before, Bytes size, StreamId stream) {
  Bytes best_size{INT64_MAX};
  std::uint64_t best = 0;
  for (const SegmentSnapshot& segment : before) {
    if (segment.stream != stream || segment.pool != pool_of(size)) continue;
    for (const BlockSnapshot& block : segment.blocks) {
      if (block.state != BlockState::cached || block.bytes < size) continue;
      if (block.bytes < best_size) {
        best_size = block.bytes;
        best = block.address;
      }
    }
  }
  return best;
}

struct Trace {
  AllocatorSpec spec;
  Bytes capacity = gib(2);
  std::uint64_t seed = 1;
  int calls = 4000;
};

class Player {
 public:
  explicit Player(const Trace& trace)
      : trace_(trace), allocator_(trace.spec, trace.capacity), random_(trace.seed) {}

  AllocatorStatistics play() {
    for (int i = 0; i < trace_.calls; ++i) {
      if (live_.empty() || draw(100) < 55) {
        allocate();
      } else {
        release();
      }
      check_invariants(allocator_, trace_.capacity);
    }
    while (!live_.empty()) release();
    complete_all(allocator_);
    check_invariants(allocator_, trace_.capacity);
    CHECK(allocator_.statistics().allocated == Bytes{0});
    CHECK(allocator_.statistics().active == Bytes{0});
    CHECK(allocator_.statistics().inactive_split == Bytes{0});
    return allocator_.statistics();
  }

  int out_of_memory() const { return out_of_memory_; }

 private:
  std::uint64_t draw(std::uint64_t bound) { return random_() % bound; }

  Bytes draw_size() {
    switch (draw(4)) {
      case 0:
        return Bytes{static_cast<std::int64_t>(draw(4096)) + 1};
      case 1:
        return Bytes{static_cast<std::int64_t>(draw(1 << 20)) + 1};
      case 2:
        return Bytes{static_cast<std::int64_t>(draw(12 << 20)) + 1};
      default:
        return Bytes{static_cast<std::int64_t>(draw(80 << 20)) + 1};
    }
  }

  void allocate() {
    const EventKey bound = event_ - std::min<EventKey>(event_, draw(20));
    allocator_.process_events([bound](EventKey event) { return event < bound; });
    const Bytes size = draw_size();
    const auto stream = static_cast<StreamId>(draw(3));
    const auto kind = static_cast<MemoryKind>(draw(memory_kind_count));
    const auto before = allocator_.snapshot();
    auto result = allocator_.allocate(size, stream, kind);
    if (result.outcome == Outcome::wait_for_pending) {
      complete_all(allocator_);
      result = allocator_.allocate(size, stream, kind);
    } else if (trace_.spec == AllocatorSpec{} && result.outcome == Outcome::allocated) {
      const std::uint64_t expected = best_fit(before, block_size(size), stream);
      REQUIRE(result.device_malloc == (expected == 0));
      if (expected != 0) require_allocated_at(expected, result.bytes);
    }
    if (result.outcome == Outcome::out_of_memory) {
      ++out_of_memory_;
      return;
    }
    REQUIRE(result.bytes >= size);
    live_.push_back(result.block);
    for (std::uint64_t uses = draw(3); uses > 0; --uses) {
      allocator_.record_stream(result.block, static_cast<StreamId>(draw(4)));
    }
  }

  void require_allocated_at(std::uint64_t address, Bytes bytes) {
    for (const SegmentSnapshot& segment : allocator_.snapshot()) {
      for (const BlockSnapshot& block : segment.blocks) {
        if (block.address != address) continue;
        REQUIRE(block.state == BlockState::allocated);
        REQUIRE(block.bytes == bytes);
        return;
      }
    }
    FAIL("no block at the best fit's address");
  }

  void release() {
    const std::size_t index = draw(live_.size());
    std::swap(live_[index], live_.back());
    drop_with_event(allocator_, live_.back(), event_);
    live_.pop_back();
    ++event_;
  }

  Trace trace_;
  CachingAllocator allocator_;
  std::mt19937_64 random_;
  std::vector<BlockId> live_;
  EventKey event_ = 0;
  int out_of_memory_ = 0;
};

}  // namespace

TEST_CASE("random traces keep the books, default options") {
  Player player(Trace{});
  const AllocatorStatistics end = player.play();
  CHECK(end.num_alloc_retries > 0);  // the trace runs into the device's capacity
  CHECK(player.out_of_memory() == end.num_ooms);
}

TEST_CASE("random traces keep the books, expandable segments") {
  Trace trace;
  trace.spec.expandable_segments = true;
  Player player(trace);
  const AllocatorStatistics end = player.play();
  CHECK(end.num_alloc_retries > 0);
  CHECK(end.num_device_free > 0);
}

TEST_CASE("random traces keep the books, split limit and garbage collection") {
  Trace trace;
  trace.spec.max_split_size = mib(24);
  trace.spec.memory_fraction = shardsim::simcore::Fraction{0.9};
  trace.spec.garbage_collection_threshold = shardsim::simcore::Fraction{0.6};
  trace.spec.roundup_power2_divisions = 4;
  Player player(trace);
  CHECK(player.play().num_device_free > 0);
}

TEST_CASE("a trace played twice gives the same numbers") {
  Trace trace;
  trace.seed = 5;
  trace.calls = 1000;
  CHECK(Player(trace).play() == Player(trace).play());
}

TEST_CASE("expandable segments waste less of a crowded device") {
  Trace plain;
  plain.capacity = gib(1);
  Trace expandable = plain;
  expandable.spec.expandable_segments = true;
  Player first(plain);
  Player second(expandable);
  first.play();
  second.play();
  CHECK(second.out_of_memory() < first.out_of_memory());
}

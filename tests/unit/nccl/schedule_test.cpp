#include "models/nccl/schedule.hpp"

#include <vector>

#include <doctest/doctest.h>

namespace shardsim::nccl {
namespace {

constexpr std::int64_t KiB = 1024;

ScheduleInputs four_channels() {
  ScheduleInputs inputs;
  inputs.rules.cell_scheduler = true;
  inputs.ranks = 4;
  inputs.channels.collective = 4;
  inputs.buffer_bytes = {{512 * KiB, 4'800 * KiB, 4'096 * KiB}};
  return inputs;
}

/// A broadcast weighs as much as its bytes; its cells are 32 KiB.
ScheduledOperation broadcast_of(std::int64_t bytes) {
  return {{Collective::broadcast, Algorithm::ring, Protocol::simple}, bytes, 1, 4, 512};
}

}  // namespace

TEST_CASE("an operation goes on where the one before left a channel half full") {
  const std::vector operations{broadcast_of(96 * KiB), broadcast_of(160 * KiB)};
  const auto ranges = schedule(four_channels(), operations);
  REQUIRE(ranges.size() == 2);
  // 256 KiB on four channels: 64 each.
  CHECK(ranges[0].first == 0);
  CHECK(ranges[0].last == 1);
  CHECK(ranges[0].low.elements == 64 * KiB);
  CHECK(ranges[0].high.elements == 32 * KiB);
  CHECK(ranges[1].first == 1);
  CHECK(ranges[1].last == 3);
  CHECK(ranges[1].low.elements == 32 * KiB);
  CHECK(ranges[1].middle.elements == 64 * KiB);
  CHECK(ranges[1].high.elements == 64 * KiB);
}

TEST_CASE("the part of a cell that is missing is taken from the last channel") {
  const auto ranges = schedule(four_channels(), std::vector{broadcast_of(100 * KiB)});
  CHECK(ranges[0].last == 3);
  CHECK(ranges[0].low.elements == 32 * KiB);
  CHECK(ranges[0].middle.elements == 32 * KiB);
  CHECK(ranges[0].high.elements == 4 * KiB);
}

TEST_CASE("the last channel takes what is left over") {
  ScheduledOperation first = broadcast_of(64 * KiB);
  first.most_channels = 1;
  ScheduledOperation second = broadcast_of(224 * KiB);
  second.most_channels = 1;
  // Two channels are asked for: 144 KiB each, which is 5 cells.
  const auto ranges = schedule(four_channels(), std::vector{first, second});
  CHECK(ranges[0].channels() == 1);
  CHECK(ranges[0].low.elements == 64 * KiB);
  CHECK(ranges[1].first == 0);
  CHECK(ranges[1].low.elements == 96 * KiB);
  CHECK(ranges[1].high.elements == 128 * KiB);
}

TEST_CASE("a ring's chunk is four steps, its slice two; other protocols' one") {
  const ScheduleInputs inputs = four_channels();
  const auto large =
      cut(inputs, {Collective::all_reduce, Algorithm::ring, Protocol::simple}, 64 * 1024 * KiB, 1);
  CHECK(large.chunk_bytes == 2'048 * KiB);
  CHECK(large.slice_bytes == 1'024 * KiB);
  // Eight rounds of four chunks, each crossing 2 (n - 1) links, four steps a chunk.
  CHECK(large.proxy_steps == 8 * 6 * 4);
  const auto ll =
      cut(inputs, {Collective::all_reduce, Algorithm::ring, Protocol::ll}, 64 * 1024 * KiB, 1);
  CHECK(ll.chunk_bytes == 32 * KiB);
  CHECK(ll.slice_bytes == 32 * KiB);
}

}  // namespace shardsim::nccl

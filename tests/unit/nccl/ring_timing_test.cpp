// The longest way through a ring's steps.
#include "models/nccl/ring_timing.hpp"

#include <doctest/doctest.h>

namespace shardsim::nccl {
namespace {

TimedTransfer ring(int ranks, int nodes) { return {0, ranks, nodes, nullptr}; }

/// Steps that cost 1 us inside and 10 us between nodes; rooms and questions cost nothing.
RingWays plain() { return {.inside = 1, .between = 10, .room = -1, .chunks = 4, .asking = -1}; }

}  // namespace

TEST_CASE("inside a node every step counts alike") {
  CHECK(longest_way_us(plain(), ring(8, 1), 14) == doctest::Approx(14));
  CHECK(longest_way_us(plain(), ring(8, 1), 0) == 0);
}

TEST_CASE("a way crosses one hop between nodes, and another after each node's ranks") {
  CHECK(longest_way_us(plain(), ring(16, 2), 1) == doctest::Approx(10));
  CHECK(longest_way_us(plain(), ring(16, 2), 8) == doctest::Approx(10 + 7));
  CHECK(longest_way_us(plain(), ring(16, 2), 9) == doctest::Approx(2 * 10 + 7));
  CHECK(longest_way_us(plain(), ring(4, 4), 3) == doctest::Approx(3 * 10));
}

TEST_CASE("where moving hides steps inside, only what crosses shows") {
  RingWays ways = plain();
  ways.inside = -1;
  // 10 us for each hop between nodes, less 7 inside them that run ahead.
  CHECK(longest_way_us(ways, ring(16, 2), 15) == doctest::Approx(10 + 10 - 7));
  ways.inside = -3;
  CHECK(longest_way_us(ways, ring(16, 2), 15) == doctest::Approx(10));
}

TEST_CASE("a sender that may be four chunks ahead waits for room on a long way") {
  RingWays ways = plain();
  ways.room = 10;
  // Three times there and back, four steps each, and once over the hop and two inside.
  CHECK(longest_way_us(ways, ring(16, 2), 15) == doctest::Approx(3 * 10 + 10 + 2));
  ways.between = ways.room = 100;
  CHECK(longest_way_us(ways, ring(16, 2), 15) >= 300);
}

TEST_CASE("a NIC that asks for every message sets the pace") {
  RingWays ways = plain();
  ways.asking = ways.asking_last = 20;
  CHECK(longest_way_us(ways, ring(16, 2), 15) == doctest::Approx(14 * 20 + 10));
}

TEST_CASE("rounds follow each other: what crosses before the last round does not start anew") {
  const TimedTransfer t = ring(16, 2);
  const RoundsWays made = longest_ways_us(plain(), 30, plain(), 15, t);
  CHECK(made.full + made.rest == doctest::Approx(longest_way_us(plain(), t, 45)).epsilon(0.2));
  CHECK(made.full + made.rest <= longest_way_us(plain(), t, 30) + longest_way_us(plain(), t, 15));
  const RoundsWays alone = longest_ways_us(plain(), 0, plain(), 15, t);
  CHECK(alone.full == 0);
  CHECK(alone.rest == doctest::Approx(longest_way_us(plain(), t, 15)));
}

TEST_CASE("libraries that ask do so for large messages, of many, and of each channel of a NIC") {
  TimingConstants constants;
  constants.network.rendezvous_us = 12;
  constants.network.eager_bytes = 8192;
  TimedTransfer t = ring(16, 2);
  t.channels_per_nic = 2;
  CHECK(asking_us(constants, t, 8192, 9) == doctest::Approx(24));
  CHECK(asking_us(constants, t, 8191, 9) == 0);
  CHECK(asking_us(constants, t, 8192, 8) == 0);
  CHECK(asking_us(constants, ring(16, 1), 8192, 9) == 0);
  CHECK(asked_messages(constants, 3 * 16384 + 100, 16384, 1) == 3);
  CHECK(asked_messages(constants, 3 * 16384 + 8192, 16384, 1) == 4);
}

}  // namespace shardsim::nccl

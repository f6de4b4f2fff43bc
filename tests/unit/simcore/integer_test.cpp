#include "simcore/integer.hpp"

#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

using shardsim::simcore::divide_up;
using shardsim::simcore::round_up;

namespace {

constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("Counts are divided rounding up, to the end of their range") {
  CHECK(divide_up(0, 7) == 0);
  CHECK(divide_up(1, 7) == 1);
  CHECK(divide_up(7, 7) == 1);
  CHECK(divide_up(8, 7) == 2);
  CHECK(divide_up(largest, 1) == largest);
  CHECK(divide_up(largest, largest) == 1);
  CHECK(divide_up(largest, 2) == largest / 2 + 1);
}

TEST_CASE("The next multiple is not below the count, and less than one step above") {
  CHECK(round_up(0, 16) == 0);
  CHECK(round_up(1, 16) == 16);
  CHECK(round_up(16, 16) == 16);
  for (std::int64_t value = 0; value < 100; ++value) {
    for (std::int64_t step = 1; step < 20; ++step) {
      CHECK(round_up(value, step) % step == 0);
      CHECK(round_up(value, step) - value < step);
      CHECK(round_up(value, step) >= value);
    }
  }
}

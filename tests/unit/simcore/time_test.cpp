#include "simcore/time.hpp"

#include <doctest/doctest.h>

using namespace shardsim::simcore;

TEST_CASE("time counts picoseconds exactly") {
  CHECK(SimTime::nanoseconds(1) == SimTime::picoseconds(1000));
  CHECK(SimTime::microseconds(1) == SimTime::nanoseconds(1000));
  CHECK(SimTime::microseconds(3) * 7 == SimTime::microseconds(21));
  CHECK(SimTime::microseconds(1) - SimTime::nanoseconds(1) == SimTime::nanoseconds(999));
  CHECK(SimTime::from_seconds(1e-12) == SimTime::picoseconds(1));
  CHECK(SimTime::from_seconds(0.4e-12) == SimTime{});
  CHECK(SimTime::from_seconds(2.5e-6).microseconds() == doctest::Approx(2.5));
  // A day in picoseconds is still exact, beyond the 53 bits of a double.
  const SimTime day = SimTime::microseconds(86'400'000'000);
  CHECK(day + SimTime::picoseconds(1) > day);
  CHECK(day < SimTime::never());
}

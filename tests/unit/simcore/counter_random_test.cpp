#include "simcore/counter_random.hpp"

#include <set>

#include <doctest/doctest.h>

namespace shardsim::simcore {
namespace {

TEST_CASE("quantiles of the normal distribution are the tabulated ones, and symmetric") {
  // R: qnorm(c(0.001, 0.975, 1e-12))
  CHECK(normal_quantile(0.001) == doctest::Approx(-3.090232306167813).epsilon(1e-14));
  CHECK(normal_quantile(0.975) == doctest::Approx(1.9599639845400536).epsilon(1e-14));
  CHECK(normal_quantile(1e-12) == doctest::Approx(-7.034483825301132).epsilon(1e-14));
  CHECK(normal_quantile(0.5) == 0);
  CHECK(normal_quantile(0.25) == -normal_quantile(0.75));
}

TEST_CASE("draws of a stream are spread evenly, and differ by counter, name and index") {
  const CounterStream stream(1, "a", 0);
  std::set<std::uint64_t> seen;
  double sum = 0;
  constexpr int draws = 100'000;
  for (std::uint64_t i = 0; i < draws; ++i) {
    const double value = stream.uniform(i);
    CHECK((value > 0 && value < 1));
    sum += value;
    seen.insert(stream.bits(i));
  }
  CHECK(seen.size() == draws);
  CHECK(sum / draws == doctest::Approx(0.5).epsilon(0.005));
  CHECK(stream.bits(7) == CounterStream(1, "a", 0).bits(7));
  CHECK(stream.bits(7) != CounterStream(1, "b", 0).bits(7));
  CHECK(stream.bits(7) != CounterStream(1, "a", 1).bits(7));
  CHECK(stream.bits(7) != CounterStream(2, "a", 0).bits(7));
}

}  // namespace
}  // namespace shardsim::simcore

#include "simcore/random.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

using namespace shardsim::simcore;

namespace {

struct Moments {
  double mean = 0;
  double deviation = 0;
};

template <class Draw>
Moments moments(int count, Draw draw) {
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < count; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / count;
  return {mean, std::sqrt(squares / count - mean * mean)};
}

std::uint64_t first(RandomStream stream) { return stream.bits(); }

}  // namespace

TEST_CASE("SplitMix64 gives the numbers of its reference implementation") {
  std::uint64_t state = 1234567;
  CHECK(split_mix_64(state) == 6457827717110365317U);
  CHECK(split_mix_64(state) == 3203168211198807973U);
  CHECK(split_mix_64(state) == 9817491932198370423U);
}

TEST_CASE("xoshiro256** gives the numbers of its reference implementation") {
  Xoshiro256 generator({1, 2, 3, 4});
  CHECK(generator.next() == 11520U);
  CHECK(generator.next() == 0U);
  CHECK(generator.next() == 1509978240U);
  CHECK(generator.next() == 1215971899390074240U);
}

TEST_CASE("a stream depends on seed, name and index and on nothing else") {
  CHECK(first(RandomStream(1, "a")) == first(RandomStream(1, "a", 0)));
  CHECK(first(RandomStream(1, "a")) != first(RandomStream(2, "a")));
  CHECK(first(RandomStream(1, "a")) != first(RandomStream(1, "b")));
  CHECK(first(RandomStream(1, "a", 1)) != first(RandomStream(1, "a", 2)));
  // Neighbouring seeds and indices must not name the same stream.
  CHECK(first(RandomStream(1, "a", 2)) != first(RandomStream(2, "a", 1)));
  CHECK(first(RandomStream(0, "")) != 0);
}

TEST_CASE("the numbers of a stream never change") {
  RandomStream stream(42, "compute_jitter", 7);
  CHECK(stream.bits() == 12239925124163063573U);
  CHECK(stream.uniform() == 0x1.7b9ba1567f252p-1);
  CHECK(stream.below(1000) == 955U);
  CHECK(stream.normal() == 0x1.ef47314886a79p-1);
  CHECK(stream.normal() == 0x1.87d4f53db4d83p-1);
  CHECK(stream.lognormal(0, 1) == 0x1.4a046b4a11f8fp+3);
  CHECK(stream.factor(0.02) == 0x1.fb40e6e74fa34p-1);
}

TEST_CASE("uniform draws fill [0, 1) evenly") {
  RandomStream stream(3, "uniform");
  const Moments seen = moments(100'000, [&] {
    const double x = stream.uniform();
    CHECK_MESSAGE((x >= 0 && x < 1), x);
    return x;
  });
  CHECK(seen.mean == doctest::Approx(0.5).epsilon(0.01));
  CHECK(seen.deviation == doctest::Approx(std::sqrt(1.0 / 12)).epsilon(0.01));
  CHECK(stream.uniform(5, 5) == 5);
}

TEST_CASE("bounded integers are equally likely and never reach the bound") {
  RandomStream stream(4, "below");
  std::vector<int> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[stream.below(7)];
  for (const int count : counts) CHECK(count == doctest::Approx(10'000).epsilon(0.05));
  CHECK(stream.below(1) == 0);
  for (int i = 0; i < 1000; ++i) CHECK(stream.below((1ULL << 63) + 1) <= (1ULL << 63));
}

TEST_CASE("normal draws have mean 0, deviation 1 and the right tails") {
  RandomStream stream(5, "normal");
  int beyond_two = 0;
  const Moments seen = moments(100'000, [&] {
    const double x = stream.normal();
    beyond_two += std::abs(x) > 2 ? 1 : 0;
    return x;
  });
  CHECK(std::abs(seen.mean) < 0.01);
  CHECK(seen.deviation == doctest::Approx(1).epsilon(0.01));
  CHECK(beyond_two == doctest::Approx(4550).epsilon(0.05));  // 4.55 %
  CHECK(stream.normal(3, 0) == 3);
}

TEST_CASE("a jitter factor has mean 1 and the deviation asked for") {
  RandomStream stream(6, "factor");
  const Moments seen = moments(100'000, [&] {
    const double x = stream.factor(0.2);
    CHECK_MESSAGE(x > 0, x);
    return x;
  });
  CHECK(seen.mean == doctest::Approx(1).epsilon(0.005));
  CHECK(seen.deviation == doctest::Approx(0.2).epsilon(0.02));
  CHECK(stream.factor(0) == 1);
}

TEST_CASE("own logarithm and exponential agree with the C library to two units in the last place") {
  RandomStream stream(7, "functions");
  const double ulp = std::numeric_limits<double>::epsilon();
  for (int i = 0; i < 20'000; ++i) {
    const double x = stream.uniform(-700, 700);
    CAPTURE(x);
    CHECK(std::abs(portable_exp(x) / std::exp(x) - 1) <= 2 * ulp);
    const double y = std::exp(x);
    CHECK(std::abs(portable_log(y) - std::log(y)) <= 2 * ulp * std::abs(std::log(y)));
    const double near_one = stream.uniform(0.5, 1.5);
    CHECK(std::abs(portable_log(near_one) - std::log(near_one)) <=
          2 * ulp * std::abs(std::log(near_one)));
  }
  CHECK(portable_log(1) == 0);
  CHECK(portable_exp(0) == 1);
  CHECK(portable_exp(-1000) == 0);
  CHECK(portable_exp(1000) == std::numeric_limits<double>::infinity());
}

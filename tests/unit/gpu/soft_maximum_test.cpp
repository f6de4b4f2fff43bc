#include "models/gpu/soft_maximum.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include <doctest/doctest.h>

using shardsim::gpu::soft_maximum;

TEST_CASE("the soft maximum is the sum at exponent 1 and the maximum at a large one") {
  CHECK(soft_maximum(3, 4, 1) == doctest::Approx(7).epsilon(1e-13));
  CHECK(soft_maximum(3, 4, 2) == doctest::Approx(5).epsilon(1e-13));
  CHECK(soft_maximum(3, 4, 1000) == 4);
}

TEST_CASE("the soft maximum with nothing is the other value") {
  CHECK(soft_maximum(0, 4, 2) == 4);
  CHECK(soft_maximum(4, 0, 2) == 4);
  CHECK(soft_maximum(0, 0, 2) == 0);
}

TEST_CASE("the soft maximum is symmetric, scales, and stays between maximum and sum") {
  for (double a = 1e-9; a < 1e9; a *= 17.3) {
    for (double b = 1e-7; b < 1e7; b *= 7.1) {
      for (const double p : {1.0, 1.7, 2.0, 4.05, 12.8, 90.0}) {
        const double value = soft_maximum(a, b, p);
        CHECK(value == soft_maximum(b, a, p));
        CHECK(value >= std::max(a, b));
        CHECK(value <= (a + b) * (1 + 1e-13));
        CHECK(soft_maximum(8 * a, 8 * b, p) == doctest::Approx(8 * value).epsilon(1e-13));
      }
    }
  }
}

TEST_CASE("the soft maximum agrees with the C library's powers") {
  for (double ratio = 1e-6; ratio <= 1; ratio *= 1.37) {
    for (const double p : {1.0, 2.46, 4.21, 12.8}) {
      const double expected = std::pow(1 + std::pow(ratio, p), 1 / p);
      CHECK(soft_maximum(ratio, 1, p) == doctest::Approx(expected).epsilon(1e-13));
    }
  }
}

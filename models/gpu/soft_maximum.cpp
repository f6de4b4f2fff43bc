#include "models/gpu/soft_maximum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>

namespace shardsim::gpu {
namespace {

/// 1, 1/3, 1/5, ... 1/21
constexpr std::array<double, 11> odd_reciprocals = [] {
  std::array<double, 11> values{};
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1 / (2 * static_cast<double>(i) + 1);
  return values;
}();

/// 1/0!, 1/1!, ... 1/14!
constexpr std::array<double, 15> reciprocal_factorials = [] {
  std::array<double, 15> values{};
  double factorial = 1;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) factorial *= static_cast<double>(i);
    values[i] = 1 / factorial;
  }
  return values;
}();

/// ln(x) for x > 0: x = m 2^e with m in [1/sqrt 2, sqrt 2), ln m = 2 artanh((m - 1) / (m + 1)).
double natural_logarithm(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  const double z = (mantissa - 1) / (mantissa + 1);
  const double square = z * z;
  double series = odd_reciprocals.back();
  for (std::size_t i = odd_reciprocals.size() - 1; i-- > 0;) {
    series = series * square + odd_reciprocals[i];
  }
  return 2 * z * series + exponent * std::numbers::ln2;
}

/// e^x for |x| < 700: x = n ln 2 + r with |r| <= ln 2 / 2, Taylor series of e^r.
double exponential(double x) {
  const double n = std::floor(x / std::numbers::ln2 + 0.5);
  const double r = x - n * std::numbers::ln2;
  double series = reciprocal_factorials.back();
  for (std::size_t i = reciprocal_factorials.size() - 1; i-- > 0;) {
    series = series * r + reciprocal_factorials[i];
  }
  return std::ldexp(series, static_cast<int>(n));
}

}  // namespace

double soft_maximum(double a, double b, double p) {
  const double larger = std::max(a, b);
  const double smaller = std::min(a, b);
  if (smaller <= 0) return larger;
  // Beyond e^-40 the smaller one no longer changes a double.
  const double log_power = p * natural_logarithm(smaller / larger);
  if (log_power < -40) return larger;
  return larger * exponential(natural_logarithm(1 + exponential(log_power)) / p);
}

}  // namespace shardsim::gpu

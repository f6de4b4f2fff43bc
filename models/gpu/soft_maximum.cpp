#include "models/gpu/soft_maximum.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace shardsim::gpu {
namespace {

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
  double series = 0;
  for (int odd = 21; odd >= 1; odd -= 2) series = series * square + 1.0 / odd;
  return 2 * z * series + exponent * std::numbers::ln2;
}

/// e^x for |x| < 700: x = n ln 2 + r with |r| <= ln 2 / 2, Taylor series of e^r.
double exponential(double x) {
  const double n = std::floor(x / std::numbers::ln2 + 0.5);
  const double r = x - n * std::numbers::ln2;
  double series = 1;
  for (int term = 14; term >= 1; --term) series = 1 + series * r / term;
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

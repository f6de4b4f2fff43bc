#include "simcore/random.hpp"

#include <bit>
#include <cassert>
#include <cmath>
#include <limits>

namespace shardsim::simcore {

namespace {

__extension__ using Wide = unsigned __int128;

// ln 2 in two parts: the first has 33 bits, so that its product with an exponent is exact.
constexpr double ln2_high = 0x1.62e42feep-1;
constexpr double ln2_low = 0x1.a39ef35793c76p-33;

/// FNV-1a: spreads a name over 64 bits.
std::uint64_t hash(std::string_view name) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char c : name) {
    value ^= static_cast<unsigned char>(c);
    value *= 0x100000001b3U;
  }
  return value;
}

/// Seed, name and index pass one after another through the finaliser, so that no two streams
/// differ by a mere offset of the counter.
std::array<std::uint64_t, 4> seed_state(std::uint64_t seed, std::string_view name,
                                        std::uint64_t index) {
  std::uint64_t state = seed;
  state = split_mix_64(state) ^ hash(name);
  state = split_mix_64(state) ^ index;
  std::array<std::uint64_t, 4> words{};
  for (std::uint64_t& word : words) word = split_mix_64(state);
  return words;  // SplitMix64 is a bijection of its counter: at most one word is zero
}

}  // namespace

std::uint64_t split_mix_64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

std::uint64_t Xoshiro256::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index)
    : generator_(seed_state(seed, name, index)) {}

double RandomStream::uniform() { return static_cast<double>(bits() >> 11U) * 0x1.0p-53; }

std::uint64_t RandomStream::below(std::uint64_t bound) {
  assert(bound > 0);
  // Lemire, "Fast random integer generation in an interval" (2019): the high half of a product,
  // rejecting the few low halves that would make some values likelier.
  Wide product = static_cast<Wide>(bits()) * bound;
  if (static_cast<std::uint64_t>(product) < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (static_cast<std::uint64_t>(product) < threshold) {
      product = static_cast<Wide>(bits()) * bound;
    }
  }
  return static_cast<std::uint64_t>(product >> 64U);
}

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  // Marsaglia's polar method: a point in the unit disc gives two independent draws.
  double x = 0;
  double y = 0;
  double square = 0;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double scale = std::sqrt(-2 * portable_log(square) / square);  // sqrt is exact in IEEE 754
  spare_normal_ = y * scale;
  has_spare_normal_ = true;
  return x * scale;
}

double RandomStream::lognormal(double mean, double deviation) {
  return portable_exp(normal(mean, deviation));
}

double RandomStream::factor(double relative_deviation) {
  // For a lognormal variable of mean 1: sigma^2 = ln(1 + cv^2), mu = -sigma^2 / 2.
  const double variance = portable_log(1 + relative_deviation * relative_deviation);
  return lognormal(-variance / 2, std::sqrt(variance));
}

double portable_log(double x) {
  assert(x > 0);
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // [0.5, 1), exact
  if (mantissa < 0.70710678118654752) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh s = 2 (s + s^3/3 + s^5/5 + ...), s = (m - 1) / (m + 1), |s| < 0.172; the first
  // term left out is below 2^-60 of the sum.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0;
  for (int power = 23; power >= 3; power -= 2) series = (series + 1.0 / power) * square;
  const double log_mantissa = 2 * s + 2 * s * series;
  return exponent * ln2_high + (log_mantissa + exponent * ln2_low);
}

double portable_exp(double x) {
  if (x > 709.79) return std::numeric_limits<double>::infinity();
  if (x < -745.2) return 0;
  // x = k ln 2 + r with |r| <= ln 2 / 2; Taylor to r^14, beyond which terms are below 2^-60.
  const double k = std::floor(x / (ln2_high + ln2_low) + 0.5);
  const double r = (x - k * ln2_high) - k * ln2_low;
  double series = 1;
  for (int n = 14; n >= 2; --n) series = 1 + series * r / n;
  return std::ldexp(1 + r * series, static_cast<int>(k));
}

}  // namespace shardsim::simcore

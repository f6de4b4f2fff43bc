// Named, seeded streams of random numbers.
//
// Models: independent draws; each stream depends on the seed, its name and its index alone, so a
// new stream never shifts the numbers of another. Generator: xoshiro256** (Blackman and Vigna,
// "Scrambled linear pseudorandom number generators", 2021), seeded by SplitMix64.
// Assumes IEEE 754 arithmetic and nothing else: logarithm and exponential are computed here,
// because those of the C library differ between platforms in the last bit. Leaves out:
// cryptographic strength.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shardsim::simcore {

/// The 64-bit finaliser and counter of SplitMix64; advances `state`.
std::uint64_t split_mix_64(std::uint64_t& state);

/// xoshiro256**. The state must not be all zero.
class Xoshiro256 {
 public:
  explicit constexpr Xoshiro256(const std::array<std::uint64_t, 4>& state) : state_(state) {}
  std::uint64_t next();

 private:
  std::array<std::uint64_t, 4> state_;
};

class RandomStream {
 public:
  /// The stream `name`, say "compute_jitter", and its member `index`, say a rank.
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index = 0);

  std::uint64_t bits() { return generator_.next(); }
  /// In [0, 1), a multiple of 2^-53.
  double uniform();
  /// In [low, high); `low` if they are equal.
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  /// In [0, bound), each value equally likely. `bound` > 0.
  std::uint64_t below(std::uint64_t bound);
  /// Mean 0, standard deviation 1.
  double normal();
  double normal(double mean, double deviation) { return mean + deviation * normal(); }
  /// exp of a normal draw with that mean and deviation.
  double lognormal(double mean, double deviation);
  /// A positive factor of mean 1 whose standard deviation is `relative_deviation` (>= 0): a
  /// lognormal draw. Exactly 1 for zero, though a draw is used up.
  double factor(double relative_deviation);

 private:
  Xoshiro256 generator_;
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

/// Natural logarithm of a finite x > 0, within 2 units in the last place, the same bits everywhere.
double portable_log(double x);
/// Exponential, within 2 units in the last place; 0 or infinity beyond the range of doubles.
double portable_exp(double x);

}  // namespace shardsim::simcore

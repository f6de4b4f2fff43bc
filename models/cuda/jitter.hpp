// Random variation of kernel times.
//
// Models: the time of each kernel times a factor of mean 1, drawn independently for each rank and
// operation from a named distribution. A draw depends on the seed, the rank and the operation's
// place in the program alone, so that neither the order of simulation nor other ranks change it.
// Leaves out correlation in time (throttling comes and goes) and between the GPUs of a node.
#pragma once

#include <array>
#include <cstdint>

#include "simcore/config/fields.hpp"

namespace shardsim::cuda {

enum class Distribution : std::uint8_t {
  normal,       ///< 1 + d z, cut off at 0
  lognormal,    ///< exp(s z - s^2/2), s^2 = ln(1 + d^2): never below 0, a tail above
  exponential,  ///< 1 - d + d e, e exponential of mean 1: a floor and a long tail above
  uniform,      ///< between 1 - d sqrt(3) and 1 + d sqrt(3), cut off at 0
};

/// The largest deviation at which factors keep their mean of 1 without falling below 0; for the
/// normal distribution to 1e-4, of what lies beyond three deviations.
constexpr double most_deviation(Distribution distribution) {
  switch (distribution) {
    case Distribution::normal:
      return 0.33;
    case Distribution::lognormal:
      return 10;
    case Distribution::exponential:
      return 1;
    case Distribution::uniform:
      return 0.57;  // below 1 / sqrt(3)
  }
  return 0;
}

struct Jitter {
  Distribution distribution = Distribution::normal;
  double deviation = 0;  ///< standard deviation of the factor, d above
  std::uint64_t seed = 0;

  bool operator==(const Jitter&) const = default;
  /// The factor at which the distribution function is `u`, 0 < u < 1.
  double factor_at(double u) const;
};

}  // namespace shardsim::cuda

namespace shardsim::simcore {

template <>
struct EnumNames<cuda::Distribution> {
  static constexpr auto values =
      std::to_array<EnumName<cuda::Distribution>>({{"normal", cuda::Distribution::normal},
                                                   {"lognormal", cuda::Distribution::lognormal},
                                                   {"exponential", cuda::Distribution::exponential},
                                                   {"uniform", cuda::Distribution::uniform}});
};

}  // namespace shardsim::simcore

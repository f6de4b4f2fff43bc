// Random numbers by number: draw n of a stream without the draws before it.
//
// Models: a stream is a key (of seed, name and index) and a counter; a draw is the counter's
// offset from the key, put through the finaliser of SplitMix64 twice. What one draw gives depends
// on nothing else that is simulated, nor on the order in which it is asked for.
#pragma once

#include <cstdint>
#include <string_view>

namespace shardsim::simcore {

class CounterStream {
 public:
  /// The stream `name`, say "compute_jitter", and its member `index`, say a rank.
  CounterStream(std::uint64_t seed, std::string_view name, std::uint64_t index);

  std::uint64_t bits(std::uint64_t counter) const {
    return finalise(finalise(key_ + counter * 0x9e3779b97f4a7c15U) ^ key_);
  }
  /// In (0, 1): an odd multiple of 2^-53.
  double uniform(std::uint64_t counter) const {
    return (static_cast<double>(bits(counter) >> 12U) + 0.5) * 0x1.0p-52;
  }

 private:
  static std::uint64_t finalise(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
  }
  std::uint64_t key_;
};

/// The value below which a standard normal variable lies with probability `p`, 0 < p < 1; about 16
/// digits. Source: M. J. Wichura, "Algorithm AS 241: The percentage points of the normal
/// distribution", Applied Statistics 37 (1988), PPND16.
double normal_quantile(double p);

}  // namespace shardsim::simcore

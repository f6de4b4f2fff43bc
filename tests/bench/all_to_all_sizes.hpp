// The sizes of an all-to-all's flows, the same for every program that simulates it.
#pragma once

#include <cstdint>

namespace bench {

/// Bytes of one flow after the other, sender by sender, receiver by receiver.
class Sizes {
 public:
  explicit Sizes(bool jittered) : jittered_(jittered) {}
  double next() {
    if (!jittered_) return 1e6;
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX generator
    return 1e6 + static_cast<double>((state_ >> 33U) % 1'000'000U);
  }

 private:
  bool jittered_;
  std::uint64_t state_ = 1;
};

}  // namespace bench

// How far a GPU's power management has slowed its clocks.
//
// A GPU starts a burst of arithmetic at full clock and falls to a sustained one within about a
// millisecond. `throttle` of a kernel's constants is the depth of that fall; the power state says
// how much of it applies.
#pragma once

#include <algorithm>

namespace shardsim::gpu {

class PowerState {
 public:
  /// The whole run at one state: 1 (the default) is a GPU kept busy with arithmetic, as in a
  /// training step; lower when much of the step waits or moves memory. Clamped to [0, 1].
  static constexpr PowerState steady(double depth = 1) {
    return PowerState(std::clamp(depth, 0.0, 1.0));
  }
  /// A benchmark that times kernels in a loop: the state follows from each kernel's length.
  static constexpr PowerState benchmark() { return PowerState(-1); }

  constexpr PowerState() = default;
  constexpr bool is_benchmark() const { return depth_ < 0; }

  /// Share of the throttle depth that applies to a kernel whose arithmetic takes `seconds` at full
  /// clock: x / (1 + x) with x = seconds / 1.1 ms in a benchmark. The time constant was fitted once
  /// to the GEMM measurements of seven GPUs together.
  constexpr double depth(double seconds) const {
    if (depth_ >= 0) return depth_;
    constexpr double time_constant = 1.1e-3;
    return seconds / (seconds + time_constant);
  }

 private:
  explicit constexpr PowerState(double depth) : depth_(depth) {}
  double depth_ = 1;  // negative: follows from the kernel's length
};

}  // namespace shardsim::gpu

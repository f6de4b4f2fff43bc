// The arithmetic of a kernel's progress, in one place for every engine that runs kernels: equal
// operations on equal numbers, so that engines agree to the bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <variant>

#include "models/cuda/program.hpp"
#include "simcore/time.hpp"

namespace shardsim::cuda {

/// Launches that the kernel stands for, at least 1.
inline int launches_of(const KernelSpec& kernel) {
  const auto* work = std::get_if<gpu::MemoryBoundWork>(&kernel.work);
  return work != nullptr ? std::max(1, work->launches) : 1;
}

/// The nearest whole number to x >= 0, halves up, of what is in range; std::llround without the
/// call.
inline std::int64_t nearest(double x) {
  constexpr double most = 9.2e18;
  x = std::min(x, most);
  const auto whole = static_cast<std::int64_t>(x);
  return whole + (x - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

/// `time` times `factor`, to the nearest picosecond.
inline simcore::SimTime scaled(simcore::SimTime time, double factor) {
  if (factor == 1) return time;
  return simcore::SimTime::picoseconds(nearest(static_cast<double>(time.picoseconds()) * factor));
}

/// Share of a kernel that is left once it has `worked` at a pace at which it would take `whole`.
inline double left_after(double left, simcore::SimTime worked, simcore::SimTime whole) {
  const auto denominator = std::max<std::int64_t>(1, whole.picoseconds());
  return std::max(
      0.0, left - static_cast<double>(worked.picoseconds()) / static_cast<double>(denominator));
}

}  // namespace shardsim::cuda

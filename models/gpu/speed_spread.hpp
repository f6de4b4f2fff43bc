// GPUs of one kind are not equally fast: chips differ in the clock that they hold at their power
// limit, and a synchronous step goes at the pace of the slowest.
//
// Models: the rates of N GPUs as independent normal draws; the expected slowest stands for all, so
// that ranks stay alike. Matrix products and attention take its pace.
// Assumes: the slowest GPU is the slowest of every part of the step; memory runs at one clock
// everywhere.
// Leaves out: which GPU it is, how much the others wait for it, nodes that are ill (an outlier is a
// perturbation), drift in time.
#pragma once

#include <cstdint>

#include "models/gpu/gpu_spec.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::gpu {

/// Mean of the largest of `count` standard normal draws; 0 for one. By G. Blom, "Statistical
/// Estimates and Transformed Beta-Variables" (1958): the quantile at (N - 3/8) / (N + 1/4), within
/// 1 % of the mean for every N.
double expected_largest_normal(std::int64_t count);

/// `gpu` as the slowest of `count` with this spread (standard deviation of time over mean time) is
/// expected to be: its products and attention kernels take 1 + spread x expected_largest_normal as
/// long.
GpuSpec slowest_of(GpuSpec gpu, std::int64_t count, simcore::Fraction spread);

}  // namespace shardsim::gpu

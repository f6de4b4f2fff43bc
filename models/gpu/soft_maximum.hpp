// The soft roofline knee: a maximum that two resources share near their crossing.
//
// Written with additions, multiplications and divisions alone, because the last bit of std::pow
// depends on the C library and on the processor, and a result must not.
#pragma once

namespace shardsim::gpu {

/// (a^p + b^p)^(1/p) for a, b >= 0 and p >= 1, to about 1e-14: the sum for p = 1, the larger of the
/// two for large p. Never below the larger, never above the sum (up to rounding).
double soft_maximum(double a, double b, double p);

}  // namespace shardsim::gpu

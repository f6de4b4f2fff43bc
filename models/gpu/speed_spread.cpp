#include "models/gpu/speed_spread.hpp"

#include <cassert>

#include "simcore/counter_random.hpp"

namespace shardsim::gpu {

double expected_largest_normal(std::int64_t count) {
  assert(count >= 1);
  const auto n = static_cast<double>(count);
  return count == 1 ? 0 : simcore::normal_quantile((n - 0.375) / (n + 0.25));
}

GpuSpec slowest_of(GpuSpec gpu, std::int64_t count, simcore::Fraction spread) {
  const double longer = 1 + spread.value * expected_largest_normal(count);
  for (auto* constants :
       {&gpu.gemm.fp32, &gpu.gemm.tf32, &gpu.gemm.bf16, &gpu.gemm.fp16, &gpu.gemm.fp8}) {
    if (*constants) (*constants)->efficiency.value /= longer;
  }
  for (AttentionConstants& kernel : gpu.attention.kernels) kernel.efficiency.value /= longer;
  return gpu;
}

}  // namespace shardsim::gpu

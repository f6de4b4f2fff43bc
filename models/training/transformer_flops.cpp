#include "models/training/transformer_flops.hpp"

namespace shardsim::training {

std::int64_t matmul_parameters(const TransformerShape& shape) {
  const std::int64_t attention =
      shape.hidden * (2 * shape.attention_width() + 2 * shape.kv_width());
  const std::int64_t products = shape.mlp == MlpKind::swiglu ? 3 : 2;
  const std::int64_t feed_forward = products * shape.hidden * shape.ffn_hidden;
  return shape.layers * (attention + feed_forward) + shape.vocabulary * shape.hidden;
}

ModelFlops training_flops_per_token(const TransformerShape& shape, std::int64_t sequence_length) {
  const double linear = 6.0 * static_cast<double>(matmul_parameters(shape));
  const double attention = 6.0 * static_cast<double>(shape.layers) *
                           static_cast<double>(shape.attention_width()) *
                           static_cast<double>(sequence_length);
  return {.causal = linear + attention, .full_attention = linear + 2 * attention};
}

HardwareFlops hardware_flops(const cuda::Program& program) {
  HardwareFlops result;
  for (const cuda::Op& op : program.ops) {
    if (op.code != cuda::OpCode::kernel) continue;
    const cuda::KernelSpec& kernel = program.kernels[op.index];
    const double flops = gpu::flops(kernel.work);
    result.total += flops;
    if (kernel.recompute) result.recomputed += flops;
  }
  return result;
}

}  // namespace shardsim::training

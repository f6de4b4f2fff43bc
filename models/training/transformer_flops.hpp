// Floating-point operations of a training step, as MFU and HFU count them.
//
// Model FLOPs (MFU) follow the field's formula, 6 N + 6 L a d s a token with causal attention and
// 6 N + 12 L a d s without the causal half, where N are the weights that multiply activations (the
// blocks' linear layers and the head; no embedding, norms or biases), L layers, a heads of size d,
// s the sequence length. Backward counts twice the forward.
// Hardware FLOPs (HFU) count what the kernels do: besides the model's, recomputation and the fifth
// product of fused attention's backward.
#pragma once

#include <cstdint>

#include "models/cuda/program.hpp"
#include "models/training/transformer_shape.hpp"

namespace shardsim::training {

/// N of the formula.
std::int64_t matmul_parameters(const TransformerShape& shape);

struct ModelFlops {
  double causal = 0;          ///< attention counted up to the diagonal
  double full_attention = 0;  ///< attention counted over the whole square
};
/// Forward and backward, for one token in a sequence of this length.
ModelFlops training_flops_per_token(const TransformerShape& shape, std::int64_t sequence_length);

struct HardwareFlops {
  double total = 0;
  double recomputed = 0;  ///< part of the total
};
/// All kernels of the program, over all its steps.
HardwareFlops hardware_flops(const cuda::Program& program);

}  // namespace shardsim::training

// What a kernel has to do, independent of the GPU that runs it.
//
// Shapes and bytes only; `KernelModel` turns them into time on a given GPU.
#pragma once

#include <cstdint>
#include <variant>

#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::gpu {

enum class DataType : std::uint8_t { fp32, tf32, bf16, fp16, fp8 };

/// Storage of one element; tf32 is stored as fp32.
constexpr std::int64_t bytes_per_element(DataType type) {
  switch (type) {
    case DataType::fp32:
    case DataType::tf32:
      return 4;
    case DataType::bf16:
    case DataType::fp16:
      return 2;
    case DataType::fp8:
      return 1;
  }
  return 4;
}

/// `batch` independent products (m x k) times (k x n).
struct GemmWork {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  std::int64_t batch = 1;
  DataType type = DataType::bf16;         ///< Inputs; accumulation is fp32.
  DataType output_type = DataType::bf16;  ///< Element written.
  /// fp8 only: the activations (m x k) are scaled and cast just before, by kernels counted here.
  bool dynamic_scaling = true;
  bool operator==(const GemmWork&) const = default;
};

/// Which library's fused attention runs.
enum class AttentionImplementation : std::uint8_t {
  flash_attention_1,  ///< FlashAttention before version 2, in CUDA or Triton
  flash_attention_2,  ///< what PyTorch's scaled_dot_product_attention calls "flash"
  flash_attention_3,
  cudnn,
  tensorrt_llm,  ///< prefill kernels of serving on Blackwell; no training framework calls them
};

/// Fused (Flash-style) attention over `batch` x `heads` independent heads.
struct AttentionWork {
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t query_length = 1;
  std::int64_t key_length = 1;
  std::int64_t head_size = 128;
  bool causal = true;
  bool backward = false;
  DataType type = DataType::bf16;
  AttentionImplementation implementation = AttentionImplementation::flash_attention_2;
  bool operator==(const AttentionWork&) const = default;
};

/// Kernels limited by memory traffic differ in how much of the bandwidth they reach.
enum class MemoryBoundKind : std::uint8_t {
  stream,  ///< copy, add, cast: contiguous reads and writes
  norm_forward,
  norm_backward,
  softmax,
  rotary,
  activation_forward,
  activation_backward,
  cross_entropy,
  embedding_forward,
  embedding_backward,
  optimizer,
};

/// `bytes` is what the kernel has to move at least; `launches` kernels share it.
struct MemoryBoundWork {
  MemoryBoundKind kind = MemoryBoundKind::stream;
  simcore::Bytes bytes;
  int launches = 1;
  bool operator==(const MemoryBoundWork&) const = default;
};

/// A measured or prescribed time.
struct FixedWork {
  simcore::SimTime time;
  bool operator==(const FixedWork&) const = default;
};

using KernelWork = std::variant<FixedWork, GemmWork, AttentionWork, MemoryBoundWork>;

/// Arithmetic operations of the kernel (multiply and add count as two); 0 for memory-bound ones.
/// Causal attention counts only the pairs of query and key that the mask leaves; the backward pass
/// of attention counts 2.5 times the forward pass (five products, one of them a recomputation).
double flops(const KernelWork& work);

}  // namespace shardsim::gpu

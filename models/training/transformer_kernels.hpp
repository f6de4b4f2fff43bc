// The kernels of a transformer's operators: shapes, bytes, launches and the CPU time to issue them.
//
// Matrix products and fused attention are one kernel each. Everything between them is limited by
// memory traffic and differs with the level of fusion: compiled code reads and writes each value
// once; eager code runs several kernels an operation, whose traffic is the fused traffic times a
// measured factor (EagerCost).
// Assumes: a CPU cost that is the same for every operation of a kind (CpuSpec).
// Leaves out: temporaries of eager elementwise code, statistics of norms (8 bytes a token).
#pragma once

#include <cstdint>
#include <string>

#include "models/training/cpu_spec.hpp"
#include "models/training/operator_graph.hpp"

namespace shardsim::training {

/// Direction decides what an eager operation costs the CPU.
enum class Pass : std::uint8_t { forward, backward };

/// An unfused operation against the fused one: traffic as a multiple, kernels in all.
struct EagerCost {
  double traffic = 1;
  int launches = 1;
};

// Traffic: measured times of unfused over fused kernels (Hugging Face and Liger on A100 and H100).
// Elementwise chains of contiguous tensors (SwiGLU, complex rotary) need no such factor: each
// kernel reads and writes what it names. Launches: counted in PyTorch's decompositions; they bring
// an eager Llama block to about 45 forward and 80 backward operations.
inline constexpr EagerCost eager_rms_norm_forward{10, 8};
inline constexpr EagerCost eager_rms_norm_backward{7, 18};
inline constexpr EagerCost eager_layer_norm_forward{1, 1};
inline constexpr EagerCost eager_layer_norm_backward{1, 2};
inline constexpr EagerCost eager_rotary{9, 12};
/// Kernels and views around fused attention that occupy the CPU: transposes, reshapes, the call.
inline constexpr int attention_forward_operations = 4;
inline constexpr int attention_backward_operations = 5;

/// What all kernels of a run share.
struct KernelContext {
  gpu::DataType type = gpu::DataType::bf16;         ///< activations
  gpu::DataType linear_type = gpu::DataType::bf16;  ///< inputs of the blocks' linear layers
  std::int64_t batch = 1;
  std::int64_t sequence_length = 1;
  bool compiled = false;
  bool selective_keeps_attention = true;
  CpuSpec cpu;

  std::int64_t tokens() const { return batch * sequence_length; }
  std::int64_t element_bytes() const { return gpu::bytes_per_element(type); }
  /// Bytes of an activation `width` elements wide.
  simcore::Bytes activation(std::int64_t width) const {
    return simcore::Bytes{tokens() * width * element_bytes()};
  }
  simcore::SimTime cpu_cost(Pass pass, std::int64_t operations) const;
};

/// A product of (m x k) and (k x n), `batch` of them, in the type of the activations.
Launch product(const KernelContext& context, Pass pass, std::string name, std::int64_t m,
               std::int64_t n, std::int64_t k, std::int64_t batch = 1);

/// A kernel, or `launches` of them, limited by the traffic of `bytes`.
Launch streaming(const KernelContext& context, Pass pass, std::string name,
                 cuda::KernelCategory category, gpu::MemoryBoundKind kind, simcore::Bytes bytes,
                 int launches = 1);

/// The same with the eager cost applied unless compiled (then one launch of the fused traffic).
Launch fusible(const KernelContext& context, Pass pass, std::string name,
               cuda::KernelCategory category, gpu::MemoryBoundKind kind, simcore::Bytes fused,
               EagerCost eager);

}  // namespace shardsim::training

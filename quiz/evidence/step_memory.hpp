// What a rank holds at each operation of a step, told from its program: by kind, and which layers
// are whole. Bytes as requested, without the allocator's rounding.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "models/cuda/program.hpp"

namespace shardsim::quiz {

/// The layer whose gathered weights the allocation at `op` is for, -1 if none. It is the layer of
/// the copy or collective that fills it, which a strategy issues next.
int gathered_layer(const cuda::Program& program, std::uint32_t op);
/// The same for the buffer that FSDP2's all-gather fills before the weights are copied out of it.
int arriving_layer(const cuda::Program& program, std::uint32_t op);

class StepMemory {
 public:
  /// The state just before operation `until`. `program` must outlive this.
  StepMemory(const cuda::Program& program, std::uint32_t until);

  /// Carries out the operation if it allocates or frees.
  void apply(std::uint32_t op);

  double bytes(cuda::MemoryKind kind) const { return by_kind_[static_cast<std::size_t>(kind)]; }
  /// The layer has gathered weights.
  bool whole(int layer) const;
  int whole_layers() const;
  /// Layers that are whole, or whose all-gather has its buffer.
  int whole_or_arriving_layers() const;
  /// The most gathered bytes that the layer has had since construction.
  double most_of_layer(int layer) const;

 private:
  struct Tensor {
    std::uint32_t allocation = 0;  ///< index into Program::allocations
    int layer = -1;                ///< whose weights it holds or is to receive
  };
  void add(const cuda::AllocationSpec& spec, int layer, int sign);

  const cuda::Program& program_;
  std::vector<Tensor> tensors_;
  std::array<double, cuda::memory_kind_count> by_kind_{};
  std::map<int, double> gathered_;
  std::map<int, double> arriving_;
  std::map<int, double> most_gathered_;
};

}  // namespace shardsim::quiz

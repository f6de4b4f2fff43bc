// Activation checkpointing: what a block keeps between its forward and its backward.
#pragma once

#include <cstdint>

namespace shardsim::training {

enum class Checkpointing : std::uint8_t {
  none,
  /// torchtitan's per-operator policy: attention and every second linear layer (the first, third,
  /// ... of a block, in forward order) keep their outputs, all else is computed again.
  selective,
  /// The block's input alone.
  full,
};

}  // namespace shardsim::training

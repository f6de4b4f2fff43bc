// The parts of a step in a recorded program: forward, backward, update.
#pragma once

#include <cstdint>
#include <string>

#include "models/cuda/program.hpp"

namespace shardsim::quiz {

/// Indices into Program::ops of one step. Forward is [begin, turn), backward [turn, update), the
/// optimizer's part [update, end].
struct StepPhases {
  std::uint32_t begin = 0;   ///< step_begin
  std::uint32_t turn = 0;    ///< first operation of the backward pass; `end` if there is none
  std::uint32_t update = 0;  ///< first of the optimizer after that; `end` if there is none
  std::uint32_t end = 0;     ///< step_end
};

/// The phases of the step that begins at `begin`, told from the kernels' names and categories.
StepPhases phases_of(const cuda::Program& program, std::uint32_t begin);

/// Unit of an operation or tensor of a block, e.g. 3 of "layers.3.attention" and
/// "layers.3.all_gather"; -1 for the root and whatever belongs to no block.
int layer_of(const std::string& name);

}  // namespace shardsim::quiz

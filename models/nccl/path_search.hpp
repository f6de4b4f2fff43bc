// The search for paths alone, before NCCL corrects them.
#pragma once

#include "models/nccl/paths.hpp"

namespace shardsim::nccl {

/// Breadth-first from every GPU, CPU, network device and the NVSwitch. With `nvb` a GPU may carry
/// traffic between two others that it has NVLinks to.
Paths find_paths(const System& system, bool nvb);

}  // namespace shardsim::nccl

// Names of collectives, as NCCL and nccl-tests spell them.
#pragma once

#include "models/cuda/program.hpp"

namespace shardsim::cuda {

/// "all_gather", "reduce_scatter", ...
const char* collective_name(CollectiveKind kind);

}  // namespace shardsim::cuda

// The bandwidths per channel that a search tries.
#pragma once

#include <span>

#include "models/nccl/nccl_version.hpp"

namespace shardsim::nccl {

/// Falling, in GB/s; chosen by the least compute capability (times ten) of the node's GPUs.
/// Source: the arrays of NCCL graph/search.cc.
std::span<const float> search_speeds(int compute_capability, bool several_nodes,
                                     NcclVersion version);

}  // namespace shardsim::nccl

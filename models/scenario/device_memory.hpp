// Device memory that the caching allocator cannot have: the CUDA context and NCCL's buffers.
#pragma once

#include <vector>

#include "models/nccl/communicator.hpp"
#include "models/network/graph.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::scenario {

/// What one GPU gives to the context and to the communicators it is in. A communicator of one rank
/// needs nothing.
simcore::Bytes memory_outside_allocator(const std::vector<nccl::CommunicatorSpec>& communicators,
                                        int channels);

}  // namespace shardsim::scenario

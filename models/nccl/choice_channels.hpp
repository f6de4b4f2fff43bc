// How many channels a communicator's collectives may use, and how large NVLS's chunks may be.
//
// Models: the searched channels, each laid twice, with what NCCL adds for fast GPUs on several
// nodes; the limits that the environment sets; NVLS's own channels. Leaves out communicators that
// share channels with their parent.
// Source: NVIDIA/nccl v2.18.3-1 to v2.30.7-1, src/graph/connect.cc, src/transport/nvls.cc.
#pragma once

#include <cstdint>

#include "models/nccl/environment.hpp"
#include "models/nccl/tuning_constants.hpp"
#include "models/nccl/tuning_inputs.hpp"

namespace shardsim::nccl {

struct ChannelCounts {
  int collective = 0;  ///< for all but NVLS and NVLSTree
  int nvls = 0;        ///< 0: no NVLS
  std::int64_t nvls_chunk_bytes = 0;
  std::int64_t nvls_tree_chunk_bytes = 0;  ///< at most
};

ChannelCounts channel_counts(const TuningInputs& inputs, const TuningConstants& constants,
                             const Environment& environment);

}  // namespace shardsim::nccl

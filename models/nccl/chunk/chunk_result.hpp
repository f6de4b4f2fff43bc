// What a run at chunk level gives.
#pragma once

#include <cstdint>
#include <functional>

#include "models/nccl/chunk/trace_record.hpp"
#include "simcore/time.hpp"

namespace shardsim::nccl {

struct ChunkResult {
  simcore::SimTime time;       ///< from the start of the kernels to the end of the last
  std::int64_t messages = 0;   ///< slices that all ranks send on all channels
  std::int64_t simulated = 0;  ///< of these, one by one
};

using TraceVisitor = std::function<void(const TraceRecord&, const TraceTimes&)>;

}  // namespace shardsim::nccl

// What the caching allocator reports: the counters of torch.cuda.memory_stats, and the peak by
// kind.
#pragma once

#include <cstdint>

#include "models/cuda/program.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::cuda {

/// All sizes count whole blocks, after rounding.
struct AllocatorStatistics {
  simcore::Bytes allocated;       ///< blocks handed out
  simcore::Bytes active;          ///< allocated, and freed blocks still in use on other streams
  simcore::Bytes reserved;        ///< device memory taken by the pools
  simcore::Bytes inactive_split;  ///< free parts of split segments; not of expandable ones

  simcore::Bytes peak_allocated;
  simcore::Bytes peak_active;
  simcore::Bytes peak_reserved;
  simcore::Bytes peak_inactive_split;

  BytesByKind allocated_by_kind{};
  /// The parts of peak_allocated at the first moment that reached it; they add up to it.
  BytesByKind peak_allocated_by_kind{};

  std::int64_t num_alloc_retries = 0;  ///< allocations that had to free cached segments first
  std::int64_t num_ooms = 0;
  std::int64_t num_device_alloc = 0;  ///< cudaMalloc calls, or mappings of an expandable segment
  std::int64_t num_device_free = 0;   ///< cudaFree calls, or unmappings

  bool operator==(const AllocatorStatistics&) const = default;
};

}  // namespace shardsim::cuda

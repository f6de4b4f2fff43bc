// The size rules of the caching allocator (specification section "CUDA caching allocator model"):
// how a request is rounded, which pool serves it and how much a new segment takes.
//
// Source of every constant: PyTorch, c10/cuda/CUDACachingAllocator.cpp; of pinned host memory
// aten/src/ATen/core/CachingHostAllocator.h.
#pragma once

#include <cstdint>

#include "simcore/quantity.hpp"

namespace shardsim::cuda {

inline constexpr simcore::Bytes minimum_block{512};      ///< and the rounding of all sizes
inline constexpr simcore::Bytes largest_small{1 << 20};  ///< larger ones use the large pool
inline constexpr simcore::Bytes small_segment{2 << 20};
inline constexpr simcore::Bytes large_segment{20 << 20};  ///< for requests below ...
inline constexpr simcore::Bytes smallest_huge{10 << 20};  ///< ... this; others get their own
inline constexpr simcore::Bytes huge_rounding{2 << 20};
/// Requests above are refused outright (1 EiB, PyTorch's own bound).
inline constexpr simcore::Bytes largest_request{std::int64_t{1} << 60};

enum class MemoryPool : std::uint8_t { small, large };

/// Block size for a request of `bytes` > 0. `divisions` (a power of two; 1: off) spaces the sizes
/// between two powers of two evenly, for requests above divisions * 512 B.
simcore::Bytes block_size(simcore::Bytes bytes, std::int64_t divisions = 1);
/// Pool for a block of that size.
MemoryPool pool_of(simcore::Bytes block);
/// What cudaMalloc is asked for when no cached block fits.
simcore::Bytes segment_size(simcore::Bytes block);
/// Pages that an expandable segment maps at once.
simcore::Bytes page_size(MemoryPool pool);
/// What a request of `bytes` > 0 for pinned host memory takes: the next power of two, the size by
/// which freed blocks are found again.
simcore::Bytes pinned_block_size(simcore::Bytes bytes);

}  // namespace shardsim::cuda

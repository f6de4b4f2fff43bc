// How DDP groups gradients into all-reduce buckets.
//
// Source: torch/csrc/distributed/c10d/reducer.cpp (compute_bucket_assignment_by_size).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simcore/quantity.hpp"

namespace shardsim::training {

inline constexpr simcore::Bytes ddp_first_bucket_cap{std::int64_t{1} << 20};
inline constexpr simcore::Bytes ddp_bucket_cap{std::int64_t{25} << 20};

/// Indices into `sizes`, in order. A bucket closes once its size reaches its cap, so it may exceed
/// the cap by up to one gradient, and no gradient is split. The first bucket has a cap of its own.
std::vector<std::vector<std::size_t>> assign_buckets(std::span<const simcore::Bytes> sizes,
                                                     simcore::Bytes first_cap, simcore::Bytes cap);

}  // namespace shardsim::training

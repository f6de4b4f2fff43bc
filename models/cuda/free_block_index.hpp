// Cached blocks of one pool in the order in which the allocator looks for them.
#pragma once

#include <compare>
#include <cstdint>
#include <memory_resource>
#include <set>

#include "models/cuda/pending_frees.hpp"
#include "models/cuda/program.hpp"

namespace shardsim::cuda {

/// Blocks of one stream lie together, by size and then by address: the first at or after
/// (stream, size, 0) is the best fit. Ranges without memory are kept with size 0, by address.
struct FreeBlockKey {
  StreamId stream = 0;
  std::int64_t size = 0;
  std::uint64_t address = 0;
  BlockId block = 0;  ///< follows from the address; last, so that it never decides
  auto operator<=>(const FreeBlockKey&) const = default;
};

/// Nodes come from a pool, so that a warm index allocates nothing.
using FreeBlockIndex = std::pmr::set<FreeBlockKey>;

}  // namespace shardsim::cuda

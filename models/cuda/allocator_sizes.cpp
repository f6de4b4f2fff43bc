#include "models/cuda/allocator_sizes.hpp"

#include <bit>

#include "simcore/integer.hpp"

namespace shardsim::cuda {

using simcore::Bytes;

namespace {

Bytes round_up(Bytes bytes, Bytes step) {
  return Bytes{simcore::round_up(bytes.count, step.count)};
}

}  // namespace

Bytes block_size(Bytes bytes, std::int64_t divisions) {
  if (bytes <= minimum_block) return minimum_block;
  if (divisions > 1 && bytes > minimum_block * divisions) {
    const auto size = static_cast<std::uint64_t>(bytes.count);
    // Powers of two stay; between floor and 2 * floor lie `divisions` steps.
    const auto floor = static_cast<std::int64_t>(std::bit_floor(size));
    return round_up(bytes, Bytes{floor / divisions});
  }
  return round_up(bytes, minimum_block);
}

MemoryPool pool_of(Bytes block) {
  return block <= largest_small ? MemoryPool::small : MemoryPool::large;
}

Bytes segment_size(Bytes block) {
  if (block <= largest_small) return small_segment;
  if (block < smallest_huge) return large_segment;
  return round_up(block, huge_rounding);
}

Bytes pinned_block_size(Bytes bytes) {
  return Bytes{static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes.count)))};
}

Bytes page_size(MemoryPool pool) {
  return pool == MemoryPool::small ? small_segment : large_segment;
}

}  // namespace shardsim::cuda

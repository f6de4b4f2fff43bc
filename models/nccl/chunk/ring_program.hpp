// What the ranks of a ring do on one channel: all-gather, reduce-scatter, all-reduce, broadcast and
// reduce.
//
// Worker i is the rank at position i of the ring; it receives from position i - 1 and sends to
// i + 1. docs/chunk-trace.md lists the primitives.
// Source: NVIDIA/nccl 2.30.7, src/device/all_gather.h, reduce_scatter.h, all_reduce.h, broadcast.h,
// reduce.h.
#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/chunk/primitive.hpp"
#include "models/nccl/tuning_types.hpp"

namespace shardsim::nccl {

/// What a channel carries.
struct ChannelLoad {
  Collective collective = Collective::all_gather;
  std::int64_t bytes = 0;  ///< of each rank's part for all-gather and reduce-scatter
  std::int64_t chunk_bytes = 0;
  int element_bytes = 1;
};

class RingProgram {
 public:
  /// `order`: ranks by position; position 0 is rank 0. `root` of broadcast and reduce. At least two
  /// ranks, and something to carry.
  RingProgram(const ChannelLoad& load, std::vector<int> order, int root = 0);

  int workers() const { return static_cast<int>(order_.size()); }
  std::int64_t loops() const { return loops_; }
  /// Loops that are alike: the first so many.
  std::int64_t full_loops() const { return full_loops_; }
  int primitives(std::int32_t worker) const {
    (void)worker;
    return per_loop_;
  }
  /// Primitive `index` of a worker in a loop.
  Primitive at(std::int32_t worker, std::int64_t loop, int index) const;

  /// `between(from, to)`: whether two ranks are on different nodes.
  template <class Between>
  ChannelLayout layout(const Between& between) const;

 private:
  int at_position(int position) const { return position < 0 ? position + ranks_ : position; }
  Primitive gather(std::int32_t me, std::int64_t loop, int index) const;
  Primitive scatter(std::int32_t me, std::int64_t loop, int index) const;
  Primitive all_reduce(std::int32_t me, std::int64_t loop, int index) const;
  Primitive chain(std::int32_t me, std::int64_t loop) const;

  ChannelLoad load_;
  std::vector<int> order_;
  int ranks_ = 0;
  int root_position_ = 0;
  int per_loop_ = 1;
  std::int64_t loops_ = 0;
  std::int64_t full_loops_ = 0;
  /// All-reduce: a piece of the last loop, and what is left for it.
  std::int64_t last_piece_ = 0;
  std::int64_t last_rest_ = 0;
};

template <class Between>
ChannelLayout RingProgram::layout(const Between& between) const {
  ChannelLayout made;
  for (int i = 0; i < ranks_; ++i) {
    const auto at = static_cast<std::uint32_t>(i);
    made.workers.push_back({order_[at], 0, at, 1, at, 1});
    const int next = (i + 1) % ranks_;
    made.connections.push_back({i, next,
                                between(order_[at], order_[static_cast<std::size_t>(next)])
                                    ? ConnectionKind::between
                                    : ConnectionKind::inside});
    made.inputs.push_back(static_cast<std::uint32_t>((i + ranks_ - 1) % ranks_));
    made.outputs.push_back(at);
  }
  return made;
}

}  // namespace shardsim::nccl

// What ranks do on one channel of a collective that NVLink switches carry out.
//
// Every rank scatters its data to the heads and gathers results from them; a head reads its piece
// of all ranks of the node at once, added up by the switch, and writes the result to all at once.
// Over several nodes (NVLSTree) the heads of one number add up along a tree of nodes in between,
// and one more worker of each head but the root's spreads the result.
// Source: NVIDIA/nccl 2.30.7, src/device/all_reduce.h, all_gather.h, reduce_scatter.h (NVLS).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/nccl/chunk/layout_builder.hpp"
#include "models/nccl/chunk/ring_program.hpp"
#include "models/nccl/connect.hpp"

namespace shardsim::nccl {

class NvlsProgram {
 public:
  /// `tree` by rank for NVLSTree, else empty. `heads`: local ranks, by number of head.
  NvlsProgram(const ChannelLoad& load, NodeRanks nodes, std::vector<int> heads,
              std::span<const NvlsTreeLinks> tree);

  int workers() const { return static_cast<int>(shapes_.size()); }
  std::int64_t loops() const { return loops_; }
  std::int64_t full_loops() const { return full_loops_; }
  int primitives(std::int32_t worker) const {
    const Shape& shape = shapes_[static_cast<std::size_t>(worker)];
    return shape.role == scatter_role || shape.role == gather_role ? head_count() : 1;
  }
  Primitive at(std::int32_t worker, std::int64_t loop, int index) const;
  const ChannelLayout& layout() const { return layout_; }

 private:
  enum Role { scatter_role, reduce_role, gather_role, spread_role };
  struct Shape {
    int rank = 0;
    Role role = scatter_role;
    int head = -1;
  };

  int head_count() const { return static_cast<int>(head_ranks_.size()); }
  bool scatters() const { return load_.collective != Collective::all_gather; }
  bool gathers() const { return load_.collective != Collective::reduce_scatter; }
  std::int64_t piece_bytes(std::int64_t loop, int head) const;
  void add_workers(std::span<const NvlsTreeLinks> tree);
  void connect(std::span<const NvlsTreeLinks> tree);

  ChannelLoad load_;
  NodeRanks nodes_;
  std::vector<int> head_ranks_;
  std::vector<Shape> shapes_;
  ChannelLayout layout_;
  std::int64_t loops_ = 0;
  std::int64_t full_loops_ = 0;
};

}  // namespace shardsim::nccl

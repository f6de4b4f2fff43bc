// What ranks do on one channel of a tree all-reduce: add up towards the root, spread from it.
//
// Every rank but the root has two workers, one for each direction, that work side by side; the root
// has one. A worker's inputs are its children, or its parent; likewise its outputs. In every loop a
// worker carries out one primitive.
// Source: NVIDIA/nccl 2.30.7, src/device/all_reduce.h (runTreeSplit).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/nccl/chunk/layout_builder.hpp"
#include "models/nccl/chunk/ring_program.hpp"
#include "models/nccl/connect.hpp"

namespace shardsim::nccl {

class TreeProgram {
 public:
  /// `links` by rank.
  TreeProgram(const ChannelLoad& load, std::span<const TreeLinks> links);

  int workers() const { return static_cast<int>(shapes_.size()); }
  std::int64_t loops() const { return loops_; }
  std::int64_t full_loops() const { return full_loops_; }
  int primitives(std::int32_t) const { return 1; }
  Primitive at(std::int32_t worker, std::int64_t loop, int index) const;

  template <class Between>
  ChannelLayout layout(const Between& between) const;

 private:
  struct Shape {
    int rank = 0;
    int role = 0;
    std::uint16_t inputs = 0;
    std::uint16_t outputs = 0;
  };

  ChannelLoad load_;
  std::vector<TreeLinks> links_;
  std::vector<Shape> shapes_;
  std::int64_t loops_ = 0;
  std::int64_t full_loops_ = 0;
};

template <class Between>
ChannelLayout TreeProgram::layout(const Between& between) const {
  LayoutBuilder builder;
  std::vector<std::int32_t> up(links_.size());
  std::vector<std::int32_t> down(links_.size());
  for (const Shape& shape : shapes_) {
    const std::int32_t worker = builder.add_worker(shape.rank, shape.role);
    const auto rank = static_cast<std::size_t>(shape.rank);
    if (shape.role == 0) up[rank] = worker;
    down[rank] = worker;  // the root's only one does both
  }
  for (std::size_t rank = 0; rank < links_.size(); ++rank) {
    for (const int child : links_[rank].down) {
      if (child < 0) continue;
      const auto below = static_cast<std::size_t>(child);
      const auto kind =
          between(static_cast<int>(rank), child) ? ConnectionKind::between : ConnectionKind::inside;
      const std::uint32_t sums = builder.connect(up[below], up[rank], kind);
      builder.add_output(up[below], sums);
      builder.add_input(up[rank], sums);
      const std::uint32_t results = builder.connect(down[rank], down[below], kind);
      builder.add_output(down[rank], results);
      builder.add_input(down[below], results);
    }
  }
  return builder.finish();
}

}  // namespace shardsim::nccl

#include "models/nccl/chunk/tree_program.hpp"

#include <algorithm>

#include "simcore/integer.hpp"

namespace shardsim::nccl {

TreeProgram::TreeProgram(const ChannelLoad& load, std::span<const TreeLinks> links)
    : load_(load), links_(links.begin(), links.end()) {
  for (std::size_t rank = 0; rank < links_.size(); ++rank) {
    const auto children = static_cast<std::uint16_t>(
        std::ranges::count_if(links_[rank].down, [](int child) { return child >= 0; }));
    const bool root = links_[rank].up < 0;
    const int number = static_cast<int>(rank);
    shapes_.push_back({number, 0, children, root ? children : std::uint16_t{1}});
    if (!root) shapes_.push_back({number, 1, 1, children});
  }
  loops_ = simcore::divide_up(load.bytes, load.chunk_bytes);
  full_loops_ = load.bytes / load.chunk_bytes;
}

Primitive TreeProgram::at(std::int32_t worker, std::int64_t loop, int) const {
  const Shape& shape = shapes_[static_cast<std::size_t>(worker)];
  Primitive made;
  made.chunk = loop;
  made.bytes =
      loop < full_loops_ ? load_.chunk_bytes : load_.bytes - full_loops_ * load_.chunk_bytes;
  made.inputs = shape.inputs;
  made.outputs = shape.outputs;
  made.reduces = shape.role == 0;
  made.work = shape.outputs > 0 ? Work::move : Work::keep;
  return made;
}

}  // namespace shardsim::nccl

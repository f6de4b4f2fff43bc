#include "models/nccl/chunk/nvls_program.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "simcore/integer.hpp"

namespace shardsim::nccl {

using simcore::divide_up;

NvlsProgram::NvlsProgram(const ChannelLoad& load, NodeRanks nodes, std::vector<int> heads,
                         std::span<const NvlsTreeLinks> tree)
    : load_(load), nodes_(std::move(nodes)), head_ranks_(std::move(heads)) {
  const bool in_parts = has_part_per_rank(load.collective);
  const std::int64_t loop_bytes = load.chunk_bytes * (in_parts ? 1 : head_count());
  loops_ = divide_up(load.bytes, loop_bytes);
  full_loops_ = load.bytes / loop_bytes;
  add_workers(tree);
  connect(tree);
}

void NvlsProgram::add_workers(std::span<const NvlsTreeLinks> tree) {
  for (const std::vector<int>& node : nodes_) {
    for (std::size_t local = 0; local < node.size(); ++local) {
      const auto found = std::ranges::find(head_ranks_, static_cast<int>(local));
      const int head =
          found == head_ranks_.end() ? -1 : static_cast<int>(found - head_ranks_.begin());
      const int rank = node[local];
      if (scatters()) shapes_.push_back({rank, scatter_role, head});
      if (head >= 0) shapes_.push_back({rank, reduce_role, head});
      if (gathers()) shapes_.push_back({rank, gather_role, head});
      const bool below = !tree.empty() && tree[static_cast<std::size_t>(rank)].up >= 0;
      if (head >= 0 && below) shapes_.push_back({rank, spread_role, head});
    }
  }
  std::ranges::stable_sort(shapes_, {}, &Shape::rank);
}

// Inputs and outputs are connected in the order in which a slice works on them: first those through
// the switch, then the tree's.
void NvlsProgram::connect(std::span<const NvlsTreeLinks> tree) {
  LayoutBuilder builder;
  std::map<std::pair<int, int>, std::int32_t> workers;  // (rank, role)
  for (const Shape& shape : shapes_) {
    workers[{shape.rank, shape.role}] = builder.add_worker(shape.rank, shape.role);
  }
  const auto join = [&](std::int32_t from, std::int32_t to, ConnectionKind kind) {
    const std::uint32_t made = builder.connect(from, to, kind);
    builder.add_output(from, made);
    builder.add_input(to, made);
  };
  for (const std::vector<int>& node : nodes_) {
    for (const int local : head_ranks_) {
      const int head = node[static_cast<std::size_t>(local)];
      const std::int32_t reducing = workers.at({head, reduce_role});
      const auto spreads = workers.find({head, spread_role});
      const std::int32_t spreading = spreads == workers.end() ? reducing : spreads->second;
      for (const int rank : node) {
        if (scatters()) {
          join(workers.at({rank, scatter_role}), reducing, ConnectionKind::by_switch);
        }
        if (gathers()) {
          join(spreading, workers.at({rank, gather_role}), ConnectionKind::by_switch);
        }
      }
    }
  }
  for (const Shape& shape : shapes_) {
    if (tree.empty() || shape.role != reduce_role) continue;
    for (const int child : tree[static_cast<std::size_t>(shape.rank)].down) {
      if (child < 0) continue;
      const auto spreads = workers.find({shape.rank, spread_role});
      const std::int32_t reducing = workers.at({shape.rank, reduce_role});
      join(workers.at({child, reduce_role}), reducing, ConnectionKind::between);
      join(spreads == workers.end() ? reducing : spreads->second, workers.at({child, spread_role}),
           ConnectionKind::between);
    }
  }
  layout_ = builder.finish();
}

std::int64_t NvlsProgram::piece_bytes(std::int64_t loop, int head) const {
  if (loop < full_loops_) return load_.chunk_bytes;
  const bool in_parts = has_part_per_rank(load_.collective);
  const std::int64_t rest =
      load_.bytes - full_loops_ * load_.chunk_bytes * (in_parts ? 1 : head_count());
  if (in_parts) return rest;
  const std::int64_t piece = divide_up(divide_up(rest, head_count()), 16) * 16;
  return std::clamp<std::int64_t>(rest - head * piece, 0, piece);
}

Primitive NvlsProgram::at(std::int32_t worker, std::int64_t loop, int index) const {
  const Shape& shape = shapes_[static_cast<std::size_t>(worker)];
  const WorkerPlace& place = layout_.workers[static_cast<std::size_t>(worker)];
  const bool to_heads = shape.role == scatter_role;
  const bool from_heads = shape.role == gather_role;
  const int head = to_heads || from_heads ? index : shape.head;
  Primitive made;
  made.chunk = loop * head_count() + head;
  made.bytes = piece_bytes(loop, head);
  made.work = to_heads || from_heads ? Work::scatter : Work::multicast;
  if (to_heads) {
    made.first_output = static_cast<std::uint16_t>(index);
    made.outputs = 1;
  } else if (from_heads) {
    made.first_input = static_cast<std::uint16_t>(index);
    made.inputs = 1;
  } else {
    made.inputs = static_cast<std::uint16_t>(place.inputs);
    made.outputs = static_cast<std::uint16_t>(place.outputs);
    made.reduces = shape.role == reduce_role;
  }
  return made;
}

}  // namespace shardsim::nccl

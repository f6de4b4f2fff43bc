#include "models/nccl/chunk/ring_program.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

#include "simcore/integer.hpp"

namespace shardsim::nccl {

using simcore::divide_up;

namespace {

Primitive receive(std::int64_t chunk, std::int64_t bytes) {
  return {.chunk = chunk, .bytes = bytes, .inputs = 1, .work = Work::keep};
}
Primitive send(std::int64_t chunk, std::int64_t bytes) {
  return {.chunk = chunk, .bytes = bytes, .outputs = 1};
}
Primitive pass(std::int64_t chunk, std::int64_t bytes) {
  return {.chunk = chunk, .bytes = bytes, .inputs = 1, .outputs = 1};
}
Primitive reducing(Primitive primitive) {
  primitive.reduces = true;
  return primitive;
}

}  // namespace

RingProgram::RingProgram(const ChannelLoad& load, std::vector<int> order, int root)
    : load_(load), order_(std::move(order)), ranks_(static_cast<int>(order_.size())) {
  assert(ranks_ >= 2 && load.bytes > 0 && load.chunk_bytes > 0);
  const auto found = std::ranges::find(order_, root);
  root_position_ = static_cast<int>(found - order_.begin());
  const bool reduces_all = load.collective == Collective::all_reduce;
  const std::int64_t loop_bytes = load.chunk_bytes * (reduces_all ? ranks_ : 1);
  loops_ = divide_up(load.bytes, loop_bytes);
  full_loops_ = load.bytes / loop_bytes;
  last_rest_ = load.bytes - full_loops_ * loop_bytes;
  if (reduces_all) {
    per_loop_ = 2 * ranks_ - 1;
    const std::int64_t grain = std::lcm(std::int64_t{16}, std::int64_t{load.element_bytes});
    last_piece_ = divide_up(divide_up(last_rest_, ranks_), grain) * grain;
  } else if (has_part_per_rank(load.collective)) {
    per_loop_ = ranks_;
  }
}

Primitive RingProgram::gather(std::int32_t me, std::int64_t loop, int index) const {
  const std::int64_t bytes = loop < full_loops_ ? load_.chunk_bytes : last_rest_;
  const auto owner = static_cast<std::size_t>(at_position(me - index));
  const std::int64_t chunk = loop * ranks_ + order_[owner];
  if (index == 0) return send(chunk, bytes);
  return index == ranks_ - 1 ? receive(chunk, bytes) : pass(chunk, bytes);
}

Primitive RingProgram::scatter(std::int32_t me, std::int64_t loop, int index) const {
  const std::int64_t bytes = loop < full_loops_ ? load_.chunk_bytes : last_rest_;
  const auto owner = static_cast<std::size_t>((me - index - 1 + ranks_) % ranks_);
  const std::int64_t chunk = loop * ranks_ + order_[owner];
  if (index == 0) return send(chunk, bytes);
  return reducing(index == ranks_ - 1 ? receive(chunk, bytes) : pass(chunk, bytes));
}

Primitive RingProgram::all_reduce(std::int32_t me, std::int64_t loop, int index) const {
  // Pieces me - 1, me - 2, ..., me (for the second time round: the finished sum), me - 1, ...
  int piece = me - 1 - index;
  if (piece < 0) piece += ranks_;
  if (piece < 0) piece += ranks_;
  std::int64_t bytes = load_.chunk_bytes;
  if (loop >= full_loops_) {
    bytes = std::clamp<std::int64_t>(last_rest_ - piece * last_piece_, 0, last_piece_);
  }
  const std::int64_t chunk = loop * ranks_ + piece;
  if (index == 0) return send(chunk, bytes);
  if (index < ranks_) return reducing(pass(chunk, bytes));
  return index == per_loop_ - 1 ? receive(chunk, bytes) : pass(chunk, bytes);
}

Primitive RingProgram::chain(std::int32_t me, std::int64_t loop) const {
  const std::int64_t bytes = loop < full_loops_ ? load_.chunk_bytes : last_rest_;
  const bool spreads = load_.collective == Collective::broadcast;
  const int first = spreads ? root_position_ : (root_position_ + 1) % ranks_;
  const int last = at_position(first - 1);
  Primitive made = pass(loop, bytes);
  if (me == first) made = send(loop, bytes);
  if (me == last) made = receive(loop, bytes);
  return spreads || me == first ? made : reducing(made);
}

Primitive RingProgram::at(std::int32_t worker, std::int64_t loop, int index) const {
  switch (load_.collective) {
    case Collective::all_gather:
      return gather(worker, loop, index);
    case Collective::reduce_scatter:
      return scatter(worker, loop, index);
    case Collective::all_reduce:
      return all_reduce(worker, loop, index);
    case Collective::broadcast:
    case Collective::reduce:
      break;
  }
  return chain(worker, loop);
}

}  // namespace shardsim::nccl

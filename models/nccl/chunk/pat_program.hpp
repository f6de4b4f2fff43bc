// What ranks do on one channel of PAT: all-gather and reduce-scatter in a logarithmic number of
// messages.
//
// All ranks do the same. A round sends every message of the plan (pat.hpp), in that order. Before a
// message is sent, those of the round that it needs are received, and all that stand four places
// before it or more, those of earlier rounds included, as FIFOs are finite. A last loop receives
// what is left. Assumes that a channel's threads work on one message at a time; NCCL's work on
// several chunks.
#pragma once

#include <cstdint>
#include <vector>

#include "models/nccl/chunk/layout_builder.hpp"
#include "models/nccl/chunk/ring_program.hpp"
#include "models/nccl/pat.hpp"

namespace shardsim::nccl {

class PatProgram {
 public:
  PatProgram(const ChannelLoad& load, int ranks);

  int workers() const { return plan_.ranks; }
  std::int64_t loops() const { return plan_.rounds + most_late_; }
  std::int64_t full_loops() const { return 0; }
  int primitives(std::int32_t) const { return static_cast<int>(order_.size()); }
  Primitive at(std::int32_t worker, std::int64_t loop, int index) const;

  /// Connections of the dimensions 0, 1, ... are a worker's inputs and outputs.
  template <class Between>
  ChannelLayout layout(const Between& between) const;

 private:
  struct Entry {
    std::uint16_t dimension = 0;
    std::uint32_t chunks = 0;
    bool sends = false;
    int rounds_before = 0;  ///< of a message that is received late
  };
  void find_order();
  int dimensions() const;

  ChannelLoad load_;
  PatPlan plan_;
  std::vector<Entry> order_;
  std::int64_t full_rounds_ = 0;
  int most_late_ = 0;  ///< rounds by which a message may be received late
};

template <class Between>
ChannelLayout PatProgram::layout(const Between& between) const {
  LayoutBuilder builder;
  for (int rank = 0; rank < plan_.ranks; ++rank) builder.add_worker(rank, 0);
  const int forward = load_.collective == Collective::reduce_scatter ? 1 : -1;
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    for (int dimension = 0; dimension < dimensions(); ++dimension) {
      const int distance = forward * (1 << dimension) % plan_.ranks;
      const int to = (rank + distance + plan_.ranks) % plan_.ranks;
      const auto kind = between(rank, to) ? ConnectionKind::between : ConnectionKind::inside;
      builder.add_output(rank, builder.connect(rank, to, kind));
    }
  }
  for (int rank = 0; rank < plan_.ranks; ++rank) {
    for (int dimension = 0; dimension < dimensions(); ++dimension) {
      const int distance = forward * (1 << dimension) % plan_.ranks;
      const int from = (rank - distance + plan_.ranks) % plan_.ranks;
      builder.add_input(rank, static_cast<std::uint32_t>(from * dimensions() + dimension));
    }
  }
  return builder.finish();
}

}  // namespace shardsim::nccl

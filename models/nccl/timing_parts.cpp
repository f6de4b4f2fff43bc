// The parts of collective_timing.hpp that closed forms and single messages share.
#include <algorithm>
#include <bit>

#include "models/nccl/collective_timing.hpp"
#include "models/nccl/connect.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

double us_of(double bytes, double gbps) { return gbps > 0 ? bytes / gbps * 1e-3 : 0; }

double wire_gbps(const TimedTransfer& transfer) {
  return transfer.traffic->rate.bytes_per_second * 1e-9;
}

double wire_gbps(const TimedTransfer& transfer, double nvlink_share) {
  const double nvlink = transfer.traffic->nvlink_rate.bytes_per_second * 1e-9;
  const double wire = wire_gbps(transfer);
  return nvlink > 0 ? std::min(wire, nvlink * nvlink_share) : wire;
}

bool in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter;
}

Steps ring_steps(CollectiveKind kind, const TimedTransfer& t) {
  const double all = (kind == CollectiveKind::all_reduce ? 2.0 : 1.0) * (t.ranks - 1);
  // A chain from the first rank or to it goes from node to node; a rank that repeats an operation
  // in parts meets all hops of the ring alike.
  double between = t.nodes - 1;
  if (in_parts(kind)) between = t.nodes > 1 ? all * t.nodes / t.ranks : 0;
  return {all - between, between};
}

Steps tree_path(const PlannedCommunicator& planned) {
  const int per_node = planned.shape.ranks_per_node();
  const NodeRanks nodes = consecutive_ranks(planned.shape.nodes, per_node);
  Steps longest;
  for (const auto& links :
       connect_trees(planned.graphs.tree, nodes, 2 * planned.graphs.tree.channel_count())) {
    for (std::size_t rank = 0; rank < links.size(); ++rank) {
      Steps path;
      for (int at = static_cast<int>(rank), up = links[rank].up; up >= 0;
           at = up, up = links[static_cast<std::size_t>(up)].up) {
        (at / per_node == up / per_node ? path.inside : path.between) += 1;
      }
      // A hop between nodes takes longer than any inside one of them.
      const bool farther = path.between > longest.between ||
                           (path.between == longest.between && path.inside > longest.inside);
      if (farther) longest = path;
    }
  }
  return longest;
}

Steps tree_steps(const TimedTransfer& t) {
  if (t.tree) return {2 * t.tree->inside, 2 * t.tree->between};
  const double local = static_cast<double>(t.ranks) / t.nodes;
  return {2 * (local - 1), 2.0 * tree_levels(t.nodes)};
}

int tree_levels(int nodes) { return std::bit_width(static_cast<unsigned>(std::max(nodes, 1)) - 1); }

double inside_us(const ProtocolTiming& p, const Traffic& traffic) {
  return traffic.inside.mean.microseconds() + p.step_us;
}

double between_us(const TimingConstants& constants, const ProtocolTiming& p, const Traffic& traffic,
                  double wire_bytes) {
  return traffic.between.mean.microseconds() + network_step_us(constants, p, wire_bytes);
}

double steps_us(const TimingConstants& constants, const ProtocolTiming& p, const Steps& steps,
                const Traffic& traffic, double wire_bytes) {
  return steps.inside * inside_us(p, traffic) +
         steps.between * between_us(constants, p, traffic, wire_bytes);
}

double own_copy_gbps(const TimingConstants& constants, CollectiveKind kind, bool byte_type) {
  const bool turns = kind == CollectiveKind::all_reduce;
  const bool adds = turns || kind == CollectiveKind::reduce_scatter;
  const double rate = turns ? constants.reduce_copy_gbps : constants.copy_gbps;
  return adds && byte_type ? rate / constants.byte_reduction : rate;
}

}  // namespace shardsim::nccl

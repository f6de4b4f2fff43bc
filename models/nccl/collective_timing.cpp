#include "models/nccl/collective_timing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

/// us for so many bytes at so many GB/s.
double us_of(double bytes, double gbps) { return gbps > 0 ? bytes / gbps * 1e-3 : 0; }

double wire_gbps(const TimedTransfer& t) { return t.traffic->rate.bytes_per_second * 1e-9; }

/// floor(log2(nodes)): levels of the tree between nodes.
int levels(int nodes) { return std::bit_width(static_cast<unsigned>(std::max(nodes, 1))) - 1; }

/// Steps of one byte of data.
struct Steps {
  double inside = 0;
  double between = 0;
};

Steps ring_steps(CollectiveKind kind, const TimedTransfer& t) {
  const int rounds = kind == CollectiveKind::all_reduce ? 2 : 1;
  const int between = rounds * (t.nodes - 1);
  return {static_cast<double>(rounds * (t.ranks - 1) - between), static_cast<double>(between)};
}

double steps_us(const ProtocolTiming& p, const Steps& steps, const Traffic& traffic) {
  return steps.inside * (traffic.inside.mean.microseconds() + p.step_us) +
         steps.between * (traffic.between.mean.microseconds() + p.network_step_us);
}

/// Does every step move a part of the data for each rank, rather than all of it?
bool in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter;
}

/// Adds a limit to the flow's rate, in GB/s on the wire.
void limit(FlowTiming& made, double gbps) {
  made.cap_gbps = made.cap_gbps > 0 ? std::min(made.cap_gbps, gbps) : gbps;
}

FlowTiming ring_timing(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[choice.protocol];
  const Steps steps = ring_steps(kind, t);
  const double all_steps = steps.inside + steps.between;
  const double channels = choice.channels;
  const double parts = in_parts(kind) ? t.ranks : 1;
  const double per_step = t.bytes / channels / parts;
  const double chunk =
      std::clamp(static_cast<double>(choice.chunk_bytes.count), 1.0, std::max(per_step, 1.0));
  const double data = in_parts(kind) ? all_steps * t.bytes / parts : t.bytes;

  FlowTiming made;
  made.flow_bytes = data * p.wire_factor;
  const double rate = std::min(wire_gbps(t), channels * constants.copy_gbps * p.wire_factor);
  limit(made, rate * p.efficiency);
  const double burst = std::min(chunk, p.burst_bytes);
  const double steps_alone =
      steps_us(p, steps, *t.traffic) + all_steps * us_of(burst, p.burst_gbps);
  const double moving = us_of(made.flow_bytes, made.cap_gbps);
  made.latency_us = p.start_us + std::max(0.0, steps_alone - p.overlap * moving);
  if (choice.protocol == Protocol::simple) {
    // The last part of every round is copied while the link rests; all but the first round's
    // copies belong to the flow.
    made.latency_us += us_of(chunk, constants.copy_gbps);
    const double later = us_of(per_step - chunk, constants.copy_gbps);
    limit(made, made.flow_bytes / std::max(moving + later, 1e-9) * 1e-3);
  }
  return made;
}

FlowTiming tree_timing(const TimingConstants& constants, const Choice& choice,
                       const TimedTransfer& t) {
  const ProtocolTiming& p = constants.tree[choice.protocol];
  const double local = static_cast<double>(t.ranks) / t.nodes;
  const Steps steps{2 * (local - 1), 2.0 * levels(t.nodes)};
  FlowTiming made;
  made.flow_bytes = t.bytes * p.wire_factor;
  // A channel reduces and copies at once: half of its threads for each direction.
  const double channels = choice.channels;
  const double rate =
      std::min(wire_gbps(t), channels * constants.copy_gbps / 2 * p.wire_factor) * p.efficiency;
  limit(made, rate);
  const double chunk = std::min(t.bytes / channels, static_cast<double>(choice.chunk_bytes.count));
  const double alone =
      steps_us(p, steps, *t.traffic) +
      (steps.inside + steps.between) * us_of(std::min(chunk, p.burst_bytes), p.burst_gbps);
  made.latency_us =
      p.start_us + std::max(0.0, alone - p.overlap * us_of(made.flow_bytes, made.cap_gbps));
  return made;
}

FlowTiming multicast_timing(const TimingConstants& constants, CollectiveKind kind,
                            const Choice& choice, const TimedTransfer& t, int heads) {
  FlowTiming made;
  const bool reduces_and_spreads = kind == CollectiveKind::all_reduce;
  const double efficiency =
      reduces_and_spreads ? constants.multicast_efficiency : constants.multicast_gather_efficiency;
  const double rate = wire_gbps(t) * efficiency;
  made.flow_bytes = t.bytes;
  limit(made, rate);
  const double round = static_cast<double>(choice.chunk_bytes.count) * choice.channels * heads;
  made.latency_us = constants.multicast_start_us + t.traffic->inside.mean.microseconds() +
                    constants.multicast_fill * us_of(std::min(round, t.bytes), rate);
  if (choice.algorithm == Algorithm::nvls_tree) {
    made.latency_us +=
        2.0 * levels(t.nodes) *
        (t.traffic->between.mean.microseconds() + constants.multicast_network_step_us +
         us_of(std::min(round, t.bytes), rate));
  }
  return made;
}

FlowTiming pat_timing(const TimingConstants& constants, const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  FlowTiming made;
  made.flow_bytes = t.bytes * (t.ranks - 1) / t.ranks;
  made.latency_us = p.start_us + steps_us(p, {0, static_cast<double>(levels(t.nodes))}, *t.traffic);
  return made;
}

}  // namespace

Pattern pattern_of(CollectiveKind kind, Algorithm algorithm) {
  switch (kind) {
    case CollectiveKind::alltoall:
      return Pattern::all_pairs;
    case CollectiveKind::sendrecv:
      return Pattern::neighbours;
    case CollectiveKind::broadcast:
      return Pattern::from_first;
    case CollectiveKind::reduce:
      return Pattern::to_first;
    case CollectiveKind::all_gather:
      return algorithm == Algorithm::nvls ? Pattern::gather : Pattern::ring;
    case CollectiveKind::reduce_scatter:
      return algorithm == Algorithm::nvls ? Pattern::scatter : Pattern::ring;
    case CollectiveKind::all_reduce:
      break;
  }
  switch (algorithm) {
    case Algorithm::tree:
      return Pattern::trees;
    case Algorithm::nvls:
      return Pattern::multicast;
    case Algorithm::nvls_tree:
      return Pattern::multicast_trees;
    default:
      return Pattern::ring;
  }
}

FlowTiming flow_timing(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& transfer, int nvls_heads) {
  switch (choice.algorithm) {
    case Algorithm::tree:
      return tree_timing(constants, choice, transfer);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return multicast_timing(constants, kind, choice, transfer, nvls_heads);
    case Algorithm::pat:
      return pat_timing(constants, transfer);
    default:
      return ring_timing(constants, kind, choice, transfer);
  }
}

Protocol message_protocol(double bytes) {
  constexpr double threshold = 16'384;  // NCCL_P2P_LL_THRESHOLD, of a message on one channel
  return bytes <= threshold ? Protocol::ll : Protocol::simple;
}

FlowTiming message_timing(const TimingConstants& constants, CollectiveKind kind,
                          const TimedTransfer& t) {
  FlowTiming made;
  const bool all_pairs = kind == CollectiveKind::alltoall;
  const double part = all_pairs ? t.bytes / t.ranks : t.bytes;
  const Protocol protocol = message_protocol(part);
  const ProtocolTiming& p = constants.ring[protocol];
  made.flow_bytes = part;  // the pattern's weights count the peers
  const bool between = t.nodes > 1;
  made.latency_us = constants.message_start_us[protocol] +
                    steps_us(p, {between ? 0.0 : 1.0, between ? 1.0 : 0.0}, *t.traffic);
  if (all_pairs) made.latency_us += us_of(part, constants.own_copy_gbps);
  limit(made, wire_gbps(t) * constants.message_efficiency);
  return made;
}

}  // namespace shardsim::nccl

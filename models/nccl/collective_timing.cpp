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

/// The wire's rate if only a share of NVLink's can be used.
double wire_gbps(const TimedTransfer& t, double nvlink_share) {
  const double nvlink = t.traffic->nvlink_rate.bytes_per_second * 1e-9;
  const double wire = wire_gbps(t);
  return nvlink > 0 ? std::min(wire, nvlink * nvlink_share) : wire;
}

/// floor(log2(nodes)): levels of the tree between nodes.
int levels(int nodes) { return std::bit_width(static_cast<unsigned>(std::max(nodes, 1))) - 1; }

/// Steps of one byte of data.
struct Steps {
  double inside = 0;
  double between = 0;
  double all() const { return inside + between; }
};

Steps ring_steps(CollectiveKind kind, const TimedTransfer& t) {
  const double all = (kind == CollectiveKind::all_reduce ? 2.0 : 1.0) * (t.ranks - 1);
  const double between = t.nodes > 1 ? all * t.nodes / t.ranks : 0;
  return {all - between, between};
}

/// Cables and synchronisation of a step within a node, and of one between nodes that carries so
/// many bytes on the wire.
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

/// Does every step move a part of the data for each rank, rather than all of it?
bool in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter;
}

/// Adds a limit to the flow's rate, in GB/s on the wire.
void limit(FlowTiming& made, double gbps) {
  made.cap_gbps = made.cap_gbps > 0 ? std::min(made.cap_gbps, gbps) : gbps;
}

/// LL and LL128 in rings and trees: steps that are in part hidden by the moving data.
void add_flagged_steps(const TimingConstants& constants, const ProtocolTiming& p,
                       const Steps& steps, const Traffic& traffic, double chunk, FlowTiming& made) {
  const double burst = std::min(chunk, p.burst_bytes);
  const double alone = steps_us(constants, p, steps, traffic, chunk * p.wire_factor) +
                       steps.all() * us_of(burst, p.burst_gbps);
  const double moving = us_of(made.flow_bytes, made.cap_gbps);
  made.latency_us = p.start_us + std::max(0.0, alone - p.overlap * moving);
}

/// How a channel's bytes of one rank are cut.
struct Rounds {
  double full = 0;   ///< rounds with the largest chunk
  double chunk = 0;  ///< bytes of that
  double rest = 0;   ///< bytes of the last, smaller one
};

Rounds rounds_of(double bytes, double chunk) {
  const double full = std::floor(bytes / chunk);
  return {full, chunk, bytes - full * chunk};
}

/// What the steps of a round take beyond moving its chunk.
double waiting_us(const TimingConstants& constants, const Steps& steps, const Traffic& traffic,
                  double chunk, double gbps) {
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  const double moving = us_of(chunk, gbps);
  const double inside = sliced_step_us(chunk, gbps, inside_us(p, traffic), p.exposed);
  const double between = sliced_step_us(chunk, gbps, between_us(constants, p, traffic, chunk), 0);
  return chunk > 0 ? steps.inside * (inside - moving) + steps.between * (between - moving) : 0;
}

/// The copies of a rank's own part that its channels make while their links rest.
double own_copies_us(const TimingConstants& constants, CollectiveKind kind, double bytes,
                     bool byte_type) {
  const bool turns = kind == CollectiveKind::all_reduce;
  const bool adds = turns || kind == CollectiveKind::reduce_scatter;
  return us_of(bytes, turns ? constants.reduce_copy_gbps : constants.copy_gbps) *
         (adds && byte_type ? constants.byte_reduction : 1);
}

FlowTiming simple_ring(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  const Steps steps = ring_steps(kind, t);
  const double channels = choice.channels;
  const double rate = std::min(wire_gbps(t), channels * constants.copy_gbps) * p.efficiency;
  const double largest = std::max(static_cast<double>(choice.chunk_bytes.count), 1.0);
  FlowTiming made;
  if (!in_parts(kind)) {
    // A chain that chunks go down one after another.
    const double chunk = std::min(largest, t.bytes / channels);
    made.flow_bytes = t.bytes;
    limit(made, rate);
    made.latency_us = p.start_us + steps_us(constants, p, steps, *t.traffic, chunk) +
                      steps.all() * constants.last_slice * us_of(chunk, rate / channels);
    return made;
  }
  const double part = t.bytes / channels / t.ranks;
  const Rounds rounds = rounds_of(part, largest);
  const double gbps = rate / channels;
  made.flow_bytes = steps.all() * t.bytes / t.ranks;
  made.latency_us = p.start_us + constants.last_slice * us_of(std::min(part, largest), gbps) +
                    waiting_us(constants, steps, *t.traffic, rounds.rest, gbps);
  // What recurs with the data belongs to the flow.
  const double recurring =
      rounds.full * waiting_us(constants, steps, *t.traffic, rounds.chunk, gbps) +
      own_copies_us(constants, kind, part, t.byte_type);
  limit(made, made.flow_bytes / std::max(us_of(made.flow_bytes, rate) + recurring, 1e-9) * 1e-3);
  return made;
}

FlowTiming ring_timing(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& t) {
  if (choice.protocol == Protocol::simple) return simple_ring(constants, kind, choice, t);
  const ProtocolTiming& p = constants.ring[choice.protocol];
  const Steps steps = ring_steps(kind, t);
  const double channels = choice.channels;
  const double parts = in_parts(kind) ? t.ranks : 1;
  const double per_step = t.bytes / channels / parts;
  const double chunk =
      std::clamp(static_cast<double>(choice.chunk_bytes.count), 1.0, std::max(per_step, 1.0));
  FlowTiming made;
  made.flow_bytes = (in_parts(kind) ? steps.all() * t.bytes / parts : t.bytes) * p.wire_factor;
  limit(made,
        std::min(wire_gbps(t), channels * constants.copy_gbps * p.wire_factor) * p.efficiency);
  add_flagged_steps(constants, p, steps, *t.traffic, chunk, made);
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
  const double copies = channels * constants.copy_gbps / 2 * p.wire_factor;
  const double chunk = std::min(t.bytes / channels, static_cast<double>(choice.chunk_bytes.count));
  if (choice.protocol != Protocol::simple) {
    limit(made, std::min(wire_gbps(t), copies) * p.efficiency);
    add_flagged_steps(constants, p, steps, *t.traffic, chunk, made);
    return made;
  }
  const double rate = std::min(wire_gbps(t, p.efficiency), copies * p.efficiency);
  limit(made, rate);
  made.latency_us = p.start_us + steps_us(constants, p, steps, *t.traffic, chunk) +
                    steps.all() * constants.tree_fill * us_of(chunk, rate / channels);
  return made;
}

FlowTiming multicast_timing(const TimingConstants& constants, CollectiveKind kind,
                            const Choice& choice, const TimedTransfer& t, int heads) {
  FlowTiming made;
  const bool reduces_and_spreads = kind == CollectiveKind::all_reduce;
  const double efficiency =
      reduces_and_spreads ? constants.multicast_efficiency : constants.multicast_gather_efficiency;
  const double rate = wire_gbps(t, efficiency);
  made.flow_bytes = t.bytes;
  limit(made, rate);
  const double round =
      std::min(static_cast<double>(choice.chunk_bytes.count) * choice.channels * std::max(heads, 1),
               t.bytes);
  made.latency_us = constants.multicast_start_us + t.traffic->inside.mean.microseconds() +
                    constants.multicast_fill * us_of(round, rate);
  if (choice.algorithm == Algorithm::nvls_tree) {
    made.latency_us +=
        2.0 * levels(t.nodes) *
        (t.traffic->between.mean.microseconds() + constants.multicast_network_step_us +
         constants.multicast_network_fill * us_of(round, rate));
  }
  return made;
}

FlowTiming pat_timing(const TimingConstants& constants, const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  FlowTiming made;
  made.flow_bytes = t.bytes * (t.ranks - 1) / t.ranks;
  made.latency_us = p.start_us + steps_us(constants, p, {0, static_cast<double>(levels(t.nodes))},
                                          *t.traffic, t.bytes / t.ranks);
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

Protocol message_protocol(const TimingConstants& constants, double bytes) {
  return bytes <= constants.message_ll_bytes ? Protocol::ll : Protocol::simple;
}

FlowTiming message_timing(const TimingConstants& constants, CollectiveKind kind,
                          const TimedTransfer& t) {
  FlowTiming made;
  const bool all_pairs = kind == CollectiveKind::alltoall;
  const double part = all_pairs ? t.bytes / t.ranks : t.bytes;
  const Protocol protocol = message_protocol(constants, part);
  const ProtocolTiming& p = constants.ring[protocol];
  made.flow_bytes = part * p.wire_factor;  // the pattern's weights count the peers
  const double rate = wire_gbps(t) * constants.message_efficiency;
  made.latency_us = constants.message_start_us[protocol];
  if (all_pairs) made.latency_us += us_of(part, constants.own_copy_gbps);
  if (t.nodes > 1) {
    const double remote = all_pairs ? t.ranks - static_cast<double>(t.ranks) / t.nodes : 1;
    made.latency_us += between_us(constants, p, *t.traffic, part * p.wire_factor) +
                       remote * constants.network.message_us;
    limit(made, rate / message_stretch(constants.network));
  } else {
    constexpr double most = 8 * 512 * 1024;  // eight steps of NCCL_P2P_NVL_CHUNKSIZE
    made.latency_us += inside_us(p, *t.traffic);
    if (protocol == Protocol::simple) {
      made.latency_us += constants.message_fill * us_of(std::min(part, most), rate);
    }
    limit(made, rate);
  }
  return made;
}

}  // namespace shardsim::nccl

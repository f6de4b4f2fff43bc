#include "models/nccl/collective_timing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/nccl/chunk/pat_program.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

/// Adds a limit to the flow's rate, in GB/s on the wire.
void limit(FlowTiming& made, double gbps) {
  made.cap_gbps = made.cap_gbps > 0 ? std::min(made.cap_gbps, gbps) : gbps;
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

/// LL and LL128: what is left of steps, each with `chunk` in flight, that are in part hidden by
/// data that take `moving` to move.
double flagged_steps_us(const TimingConstants& constants, const ProtocolTiming& p,
                        const Steps& steps, const Traffic& traffic, double chunk, double moving) {
  const double alone = steps_us(constants, p, steps, traffic, chunk * p.wire_factor) +
                       steps.all() * us_of(std::min(chunk, p.burst_bytes), p.burst_gbps);
  return std::max(0.0, alone - p.overlap * moving);
}

/// LL and LL128: what data that take `moving` a step do not hide of the steps between nodes, one of
/// them or all with the steps from one to the next.
double network_steps_us(const TimingConstants& constants, const ProtocolTiming& p,
                        const Steps& steps, const TimedTransfer& t, double chunk, double moving) {
  if (steps.between <= 0) return 0;
  const double burst = us_of(std::min(chunk, p.burst_bytes), p.burst_gbps);
  const double inside = inside_us(p, *t.traffic) + burst - p.overlap * moving;
  const double between =
      between_us(constants, p, *t.traffic, chunk * p.wire_factor) + burst - p.overlap * moving;
  const double apart = static_cast<double>(t.ranks) / t.nodes - 1;
  return std::max(between,
                  steps.between * between + std::max(0.0, steps.between - 1) * apart * inside);
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
      us_of(part, own_copy_gbps(constants, kind, t.byte_type));
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
  const double moving = us_of(made.flow_bytes, made.cap_gbps);
  made.latency_us = p.start_us;
  if (!in_parts(kind)) {
    made.latency_us += flagged_steps_us(constants, p, steps, *t.traffic, chunk, moving);
    return made;
  }
  // Rounds wait for each other: what hides the steps of one are its own data. Where these hide all
  // steps together, they may still not hide those between nodes; that shows once.
  const Rounds rounds = rounds_of(per_step, chunk);
  const auto step_moving = [&](double bytes) { return moving * bytes / per_step / steps.all(); };
  const auto round_us = [&](double bytes) {
    return bytes > 0 ? flagged_steps_us(constants, p, steps, *t.traffic, bytes,
                                        step_moving(bytes) * steps.all())
                     : 0;
  };
  made.latency_us += rounds.full * round_us(rounds.chunk) + round_us(rounds.rest);
  const double largest = rounds.full > 0 ? rounds.chunk : rounds.rest;
  const double worst = network_steps_us(constants, p, steps, t, largest, step_moving(largest));
  made.latency_us += std::max(0.0, worst - round_us(largest));
  return made;
}

FlowTiming tree_timing(const TimingConstants& constants, const Choice& choice,
                       const TimedTransfer& t) {
  const ProtocolTiming& p = constants.tree[choice.protocol];
  const Steps steps = tree_steps(t);
  FlowTiming made;
  made.flow_bytes = t.bytes * p.wire_factor;
  // A channel reduces and copies at once: half of its threads for each direction.
  const double channels = choice.channels;
  const double copies = channels * constants.copy_gbps / 2 * p.wire_factor;
  const double chunk = std::min(t.bytes / channels, static_cast<double>(choice.chunk_bytes.count));
  if (choice.protocol != Protocol::simple) {
    limit(made, std::min(wire_gbps(t), copies) * p.efficiency);
    made.latency_us = p.start_us + flagged_steps_us(constants, p, steps, *t.traffic, chunk,
                                                    us_of(made.flow_bytes, made.cap_gbps));
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
        2.0 * tree_levels(t.nodes) *
        (t.traffic->between.mean.microseconds() + constants.multicast_network_step_us +
         constants.multicast_network_fill * us_of(round, rate));
  }
  return made;
}

/// us in which all messages of PAT are sent and received. All ranks do the same at the same time,
/// so that one of them shows it. Rounds beyond the first few take equally long.
double pat_us(const PatProgram& program, double ps_per_byte, const TimingConstants& constants,
              const TimedTransfer& t) {
  constexpr std::int64_t shown = 24;
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  struct Dimension {
    std::vector<double> arrivals;
    std::size_t taken = 0;
  };
  std::vector<Dimension> dimensions(static_cast<std::size_t>(tree_levels(t.ranks)));
  double now = 0;
  double before = 0;
  const std::int64_t loops = program.loops();
  const std::int64_t skipped = std::max<std::int64_t>(0, loops - shown);
  for (std::int64_t loop = 0; loop < loops; ++loop) {
    before = now;
    for (int index = 0; index < program.primitives(0); ++index) {
      const Primitive one = program.at(0, loop, index);
      if (one.outputs > 0) {
        const auto bytes = static_cast<double>(one.bytes);
        now += bytes * ps_per_byte * 1e-6;
        dimensions[one.first_output].arrivals.push_back(
            now + between_us(constants, p, *t.traffic, bytes));
      } else if (one.inputs > 0) {
        Dimension& from = dimensions[one.first_input];
        now = std::max(now, from.arrivals[from.taken++]);
      }
    }
    // In the middle all rounds are alike.
    if (loop == shown / 2 && skipped > 0) {
      const double shift = static_cast<double>(skipped) * (now - before);
      now += shift;
      for (Dimension& one : dimensions) {
        for (double& arrival : one.arrivals) arrival += shift;
      }
      loop += skipped;
    }
  }
  return now;
}

FlowTiming pat_timing(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                      const TimedTransfer& t) {
  const auto part = std::max<std::int64_t>(1, std::llround(t.bytes / t.ranks / choice.channels));
  const std::int64_t chunk = std::max<std::int64_t>(choice.chunk_bytes.count, 1);
  const PatProgram program({*collective_of(kind), part, chunk, 1}, t.ranks);
  const double ps_per_byte = 1e3 * choice.channels / wire_gbps(t);
  FlowTiming made;
  made.flow_bytes = t.bytes * (t.ranks - 1) / t.ranks;
  const double all = pat_us(program, ps_per_byte, constants, t);
  made.latency_us = constants.ring[Protocol::simple].start_us +
                    std::max(0.0, all - us_of(made.flow_bytes, wire_gbps(t)));
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
      return pat_timing(constants, kind, choice, transfer);
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

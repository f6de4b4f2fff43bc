#include "models/nccl/collective_timing.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

#include "models/nccl/chunk/pat_program.hpp"
#include "models/nccl/ring_timing.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

FlowTiming tree_timing(const TimingConstants& constants, const Choice& choice,
                       const TimedTransfer& t) {
  const ProtocolTiming& p = constants.tree[choice.protocol];
  const Steps steps = tree_steps(t);
  FlowTiming made;
  made.flow_bytes = t.bytes * p.wire_factor;
  // A channel reduces and copies at once: half of its threads for each direction.
  const double channels = equal_channels(choice, t);
  const double copies = channels * constants.copy_gbps / 2 * p.wire_factor;
  const double chunk = std::min(t.bytes / channels, chunk_of(choice, t));
  const double loops = tree_messages(choice, t);
  const double apart = tree_sends(t) * asking_us(constants, t, chunk * p.wire_factor, loops);
  const double asked = asked_messages(constants, t.bytes / channels, chunk, p.wire_factor);
  if (choice.protocol != Protocol::simple) {
    made.limit(std::min(wire_gbps(t), copies) * p.efficiency);
    const double moving = us_of(made.flow_bytes, made.cap_gbps);
    made.latency_us = p.start_us +
                      flagged_steps_us(constants, p, steps, *t.traffic, chunk, moving) +
                      queue_us(asked, apart, moving);
    return made;
  }
  const double rate = std::min(wire_gbps(t, p.efficiency), copies * p.efficiency);
  made.limit(rate);
  made.latency_us = p.start_us + steps_us(constants, p, steps, *t.traffic, chunk) +
                    steps.all() * constants.tree_fill * us_of(chunk, rate / channels) +
                    queue_us(asked, apart, us_of(made.flow_bytes, rate));
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
  made.limit(rate);
  const double channels = equal_channels(choice, t);
  const double round = std::min(chunk_of(choice, t) * channels * std::max(heads, 1), t.bytes);
  made.latency_us = constants.multicast_start_us + t.traffic->inside.mean.microseconds() +
                    constants.multicast_fill * us_of(round, rate);
  if (choice.algorithm == Algorithm::nvls_tree) {
    const double piece = round / channels / std::max(heads, 1);
    const double loops = std::ceil(t.bytes / round);
    const double asking = asking_us(constants, t, piece, loops);
    const bool asks = piece >= constants.network.eager_bytes;
    made.latency_us +=
        2.0 * tree_levels(t.nodes) *
            (t.traffic->between.mean.microseconds() + constants.multicast_network_step_us +
             (asks ? constants.network.rendezvous_us : 0) +
             constants.multicast_network_fill * us_of(round, rate)) +
        queue_us(loops, tree_sends(t) * asking, us_of(t.bytes, rate));
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
  const double channels = equal_channels(choice, t);
  const double ps_per_byte = 1e3 * channels / wire_gbps(t);
  // A channel with less to carry may carry it in smaller chunks, and so take longer.
  double longest = 0;
  const auto run = [&](double bytes, double chunk_bytes) {
    const auto part = std::max<std::int64_t>(1, std::llround(bytes));
    const auto chunk = std::max<std::int64_t>(1, std::llround(chunk_bytes));
    const PatProgram program({*collective_of(kind), part, chunk, 1}, t.ranks);
    longest = std::max(longest, pat_us(program, ps_per_byte, constants, t));
  };
  for (const ChannelKind& channel : t.kinds) {
    if (channel.bytes > 0) run(channel.bytes, channel.chunk_bytes);
  }
  if (longest <= 0) run(t.bytes / t.ranks / channels, chunk_of(choice, t));
  FlowTiming made;
  made.flow_bytes = t.bytes * (t.ranks - 1) / t.ranks;
  made.limit(wire_gbps(t));
  made.latency_us = constants.ring[Protocol::simple].start_us +
                    std::max(0.0, longest - us_of(made.flow_bytes, wire_gbps(t)));
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

double share_of_peer(double connections, double peers, double ring_channels) {
  int exponent = 0;
  const double mantissa = std::frexp(connections / peers / ring_channels, &exponent);
  return std::ldexp(1, mantissa < std::numbers::sqrt2 / 2 ? exponent - 1 : exponent);
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
  if (t.nodes > 1) {
    const double remote = all_pairs ? t.ranks - static_cast<double>(t.ranks) / t.nodes : 1;
    made.latency_us += between_us(constants, p, *t.traffic, part * p.wire_factor) +
                       remote * constants.network.message_us;
    made.limit(rate / message_stretch(constants.network));
  } else {
    const double most = steps_per_buffer * t.message_chunk_bytes;
    made.latency_us += inside_us(p, *t.traffic);
    if (protocol == Protocol::simple) {
      made.latency_us += constants.message_fill * us_of(std::min(part, most), rate);
    }
    made.limit(rate);
  }
  if (all_pairs) {
    // The copy of a rank's own part recurs with the data: it belongs to the flow.
    const double copying = us_of(part, constants.own_copy_gbps);
    const double whole = us_of(made.flow_bytes, made.cap_gbps) + copying;
    made.limit(made.flow_bytes / std::max(whole, 1e-9) * 1e-3);
  }
  return made;
}

}  // namespace shardsim::nccl

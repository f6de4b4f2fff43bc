#include "models/nccl/ring_timing.hpp"

#include <algorithm>
#include <cmath>

#include "models/nccl/schedule_chunks.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

// Ranks of a node, at most, after which ways repeat.
constexpr double period = 72;
// A FIFO on either side of the network.
constexpr double steps_in_flight = 2.0 * steps_per_buffer;
constexpr double simple_chunk_steps = 4;  // ALLREDUCE_CHUNKSTEPS and others, include/collectives.h

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

/// Simple: one slice of two moves while the other is handed over.
RingWays sliced_ways(const TimingConstants& constants, const TimedTransfer& t, double messages,
                     double chunk, double gbps) {
  const Traffic& traffic = *t.traffic;
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  const double moving = us_of(chunk, gbps);
  const double between = between_us(constants, p, traffic, chunk);
  RingWays ways;
  ways.inside = sliced_step_us(chunk, gbps, inside_us(p, traffic), p.exposed) - moving;
  ways.between = sliced_step_us(chunk, gbps, between, 0) - moving;
  ways.chunks = steps_in_flight / simple_chunk_steps;
  ways.room = between + moving - ways.chunks * moving;
  ways.asking_last = asking_us(constants, t, chunk, messages) - moving;
  ways.asking = slices_of(Protocol::simple, chunk) * (ways.asking_last + moving) - moving;
  return ways;
}

/// LL and LL128: flags come with the data; what is taken in before any is handed on comes besides.
RingWays flagged_ways(const TimingConstants& constants, const ProtocolTiming& p,
                      const TimedTransfer& t, double messages, double chunk, double moving) {
  const Traffic& traffic = *t.traffic;
  const double burst = us_of(std::min(chunk, p.burst_bytes), p.burst_gbps);
  const double between = between_us(constants, p, traffic, chunk * p.wire_factor) + burst;
  RingWays ways;
  ways.inside = inside_us(p, traffic) + burst - p.overlap * moving;
  ways.between = between - p.overlap * moving;
  ways.chunks = steps_in_flight;
  ways.room = between + (2 - p.overlap - ways.chunks) * moving;
  ways.asking_last = asking_us(constants, t, chunk * p.wire_factor, messages) - moving;
  ways.asking = ways.asking_last;
  return ways;
}

FlowTiming simple_ring(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  const Steps steps = ring_steps(kind, t);
  const double channels = equal_channels(choice, t);
  const double messages = ring_messages(kind, choice, t);
  const double rate = std::min(wire_gbps(t), channels * constants.copy_gbps) * p.efficiency;
  const double largest = chunk_of(choice, t);
  FlowTiming made;
  if (!in_parts(kind)) {
    // A chain that chunks go down one after another.
    const double chunk = std::min(largest, t.bytes / channels);
    made.flow_bytes = t.bytes;
    made.limit(rate);
    made.latency_us = p.start_us + steps_us(constants, p, steps, *t.traffic, chunk) +
                      steps.all() * constants.last_slice * us_of(chunk, rate / channels) +
                      queue_us(asked_messages(constants, t.bytes / channels, chunk, 1),
                               asking_us(constants, t, chunk, messages), us_of(t.bytes, rate));
    return made;
  }
  const double part = t.bytes / channels / t.ranks;
  const Rounds rounds = rounds_of(part, largest);
  const double gbps = rate / channels;
  const auto ways = [&](double chunk) { return sliced_ways(constants, t, messages, chunk, gbps); };
  const RoundsWays waiting =
      longest_ways_us(ways(rounds.chunk), rounds.full * steps.all(), ways(rounds.rest),
                      rounds.rest > 0 ? steps.all() : 0, t);
  made.flow_bytes = steps.all() * t.bytes / t.ranks;
  made.latency_us =
      p.start_us + constants.last_slice * us_of(std::min(part, largest), gbps) + waiting.rest;
  // What recurs with the data belongs to the flow.
  const double recurring = waiting.full + us_of(part, own_copy_gbps(constants, kind, t.byte_type));
  made.limit(made.flow_bytes / std::max(us_of(made.flow_bytes, rate) + recurring, 1e-9) * 1e-3);
  return made;
}

}  // namespace

double longest_way_us(const RingWays& ways, const TimedTransfer& t, double steps, Way way) {
  if (t.nodes <= 1) return std::max(0.0, steps * ways.inside);
  const double apart = static_cast<double>(t.ranks) / t.nodes - 1;
  // Where a rank's own steps take longer than going on inside, the way goes on only to cross.
  const auto going_on = [&](double left) {
    const double least = std::floor(left * t.nodes / t.ranks);
    const double most = way == Way::whole ? ring_crossings(t, left) : least;
    if (ways.inside > 0) {
      const double count = ways.between > ways.inside ? most : least;
      return count * ways.between + (left - count) * ways.inside;
    }
    const double again = ways.between + apart * ways.inside;
    const double first = way == Way::whole ? std::max(0.0, ways.between) : 0;
    const double others = way == Way::whole ? most - 1 : most;
    return first + std::max(0.0, others * again);
  };
  const double last = way == Way::whole ? std::max(0.0, ways.between) - ways.asking_last : 0;
  double longest = std::max(0.0, steps * ways.asking + last);
  // How often the way waits for room: apart from where it crosses, costs are linear in that.
  const double waits = ways.room > 0 ? std::max(0.0, std::floor((steps - 1) / ways.chunks)) : 0;
  for (double count = 0; count <= waits; ++count) {
    if (count > period && count < waits - period) count = std::floor(waits - period);
    const double left = steps - count * ways.chunks;
    longest = std::max(longest, count * ways.room + going_on(left));
  }
  return longest;
}

RoundsWays longest_ways_us(const RingWays& full, double full_steps, const RingWays& rest,
                           double rest_steps, const TimedTransfer& t) {
  const auto both = [&](Way first, Way second) {
    return RoundsWays{full_steps > 0 ? longest_way_us(full, t, full_steps, first) : 0,
                      rest_steps > 0 ? longest_way_us(rest, t, rest_steps, second) : 0};
  };
  if (rest_steps <= 0) return both(Way::whole, Way::part);
  const RoundsWays late = both(Way::part, Way::whole);
  if (full_steps <= 0) return late;
  const auto longer = [](const RoundsWays& a, const RoundsWays& b) {
    return a.full + a.rest > b.full + b.rest ? a : b;
  };
  const RoundsWays one = longer(both(Way::whole, Way::part), late);
  if (full.inside > 0 || t.nodes <= 1) return one;
  // Crosses in full rounds, waits there, and goes on for more crossings in the last: from the hop
  // that it has crossed it must first come near the next.
  const double per_node = static_cast<double>(t.ranks) / t.nodes;
  const double before = rest_steps - (ring_crossings(t, rest_steps) - 1) * per_node;
  RoundsWays two = both(Way::whole, Way::whole);
  two.full += rest.inside > 0 ? std::max(0.0, per_node - before) * full.inside
                              : (per_node - 1) * std::max(full.inside, rest.inside);
  return longer(one, two);
}

FlowTiming ring_timing(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& t) {
  if (choice.protocol == Protocol::simple) return simple_ring(constants, kind, choice, t);
  const ProtocolTiming& p = constants.ring[choice.protocol];
  const Steps steps = ring_steps(kind, t);
  const double channels = equal_channels(choice, t);
  const double messages = ring_messages(kind, choice, t);
  const double parts = in_parts(kind) ? t.ranks : 1;
  const double per_step = t.bytes / channels / parts;
  const double chunk = std::clamp(chunk_of(choice, t), 1.0, std::max(per_step, 1.0));
  FlowTiming made;
  made.flow_bytes = (in_parts(kind) ? steps.all() * t.bytes / parts : t.bytes) * p.wire_factor;
  made.limit(std::min(wire_gbps(t), channels * constants.copy_gbps * p.wire_factor) * p.efficiency);
  const double moving = us_of(made.flow_bytes, made.cap_gbps);
  made.latency_us = p.start_us;
  if (!in_parts(kind)) {
    made.latency_us += flagged_steps_us(constants, p, steps, *t.traffic, chunk, moving) +
                       queue_us(asked_messages(constants, per_step, chunk, p.wire_factor),
                                asking_us(constants, t, chunk * p.wire_factor, messages), moving);
    return made;
  }
  const Rounds rounds = rounds_of(per_step, chunk);
  const auto ways = [&](double bytes) {
    const double step_moving = moving * bytes / per_step / steps.all();
    return flagged_ways(constants, p, t, messages, bytes, step_moving);
  };
  const RoundsWays waiting =
      longest_ways_us(ways(rounds.chunk), rounds.full * steps.all(), ways(rounds.rest),
                      rounds.rest > 0 ? steps.all() : 0, t);
  made.latency_us += waiting.full + waiting.rest;
  return made;
}

}  // namespace shardsim::nccl

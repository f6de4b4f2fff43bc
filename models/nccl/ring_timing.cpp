#include "models/nccl/ring_timing.hpp"

#include <algorithm>
#include <cmath>

#include "models/nccl/schedule_chunks.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

// A FIFO on either side of the network.
constexpr double steps_in_flight = 2.0 * steps_per_buffer;
// ALLREDUCE_CHUNKSTEPS and others (include/collectives.h); a slice has a 32nd of its steps' buffer
// at least (device/prims_simple.h).
constexpr double simple_chunk_steps = 4;
constexpr double least_slice = 32 * 1024;

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
RingWays sliced_ways(const TimingConstants& constants, const TimedTransfer& t, double chunk,
                     double gbps) {
  const Traffic& traffic = *t.traffic;
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  const double moving = us_of(chunk, gbps);
  const double between = between_us(constants, p, traffic, chunk);
  RingWays ways;
  ways.inside = sliced_step_us(chunk, gbps, inside_us(p, traffic), p.exposed) - moving;
  ways.between = sliced_step_us(chunk, gbps, between, 0) - moving;
  ways.chunks = steps_in_flight / simple_chunk_steps;
  ways.room = between + moving - ways.chunks * moving;
  const double messages = chunk > least_slice ? 2 : 1;
  ways.asking = messages * asking_us(constants, t, chunk) - moving;
  return ways;
}

/// LL and LL128: flags come with the data; what is taken in before any is handed on comes besides.
RingWays flagged_ways(const TimingConstants& constants, const ProtocolTiming& p,
                      const TimedTransfer& t, double chunk, double moving) {
  const Traffic& traffic = *t.traffic;
  const double burst = us_of(std::min(chunk, p.burst_bytes), p.burst_gbps);
  const double between = between_us(constants, p, traffic, chunk * p.wire_factor) + burst;
  RingWays ways;
  ways.inside = inside_us(p, traffic) + burst - p.overlap * moving;
  ways.between = between - p.overlap * moving;
  ways.chunks = steps_in_flight;
  ways.room = between + (2 - p.overlap - ways.chunks) * moving;
  ways.asking = asking_us(constants, t, chunk * p.wire_factor) - moving;
  return ways;
}

FlowTiming simple_ring(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  const Steps steps = ring_steps(kind, t);
  const double channels = equal_channels(choice, t);
  const double rate = std::min(wire_gbps(t), channels * constants.copy_gbps) * p.efficiency;
  const double largest = std::max(static_cast<double>(choice.chunk_bytes.count), 1.0);
  FlowTiming made;
  if (!in_parts(kind)) {
    // A chain that chunks go down one after another.
    const double chunk = std::min(largest, t.bytes / channels);
    made.flow_bytes = t.bytes;
    made.limit(rate);
    made.latency_us = p.start_us + steps_us(constants, p, steps, *t.traffic, chunk) +
                      steps.all() * constants.last_slice * us_of(chunk, rate / channels) +
                      queue_us(std::ceil(t.bytes / channels / chunk),
                               asking_us(constants, t, chunk), us_of(t.bytes, rate));
    return made;
  }
  const double part = t.bytes / channels / t.ranks;
  const Rounds rounds = rounds_of(part, largest);
  const double gbps = rate / channels;
  const auto waiting = [&](double chunk, double count) {
    return chunk > 0
               ? longest_way_us(sliced_ways(constants, t, chunk, gbps), t, count * steps.all())
               : 0;
  };
  made.flow_bytes = steps.all() * t.bytes / t.ranks;
  made.latency_us = p.start_us + constants.last_slice * us_of(std::min(part, largest), gbps) +
                    waiting(rounds.rest, 1);
  // What recurs with the data belongs to the flow.
  const double recurring = (rounds.full > 0 ? waiting(rounds.chunk, rounds.full) : 0) +
                           us_of(part, own_copy_gbps(constants, kind, t.byte_type));
  made.limit(made.flow_bytes / std::max(us_of(made.flow_bytes, rate) + recurring, 1e-9) * 1e-3);
  return made;
}

}  // namespace

double longest_way_us(const RingWays& ways, const TimedTransfer& t, double steps) {
  const double apart = static_cast<double>(t.ranks) / t.nodes - 1;
  // Costs are linear in how often the way waits for room and crosses: the extremes are enough.
  const auto crossing = [&](double count, double left) {
    const double inside = ways.inside > 0 ? left - count : (count - 1) * apart;
    return count * ways.between + std::max(0.0, inside) * ways.inside;
  };
  double longest = std::max(0.0, steps * ways.inside);
  if (t.nodes <= 1) return longest;
  longest = std::max(longest, (steps - 1) * ways.asking + std::max(0.0, ways.between));
  const double waits = ways.room > 0 ? std::floor((steps - 1) / ways.chunks) : 0;
  for (const double count : {0.0, waits}) {
    const double left = steps - count * ways.chunks;
    if (left < 1) continue;
    const double most = ring_crossings(t, left);
    longest =
        std::max(longest, count * ways.room + std::max(crossing(1, left), crossing(most, left)));
  }
  return longest;
}

FlowTiming ring_timing(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& t) {
  if (choice.protocol == Protocol::simple) return simple_ring(constants, kind, choice, t);
  const ProtocolTiming& p = constants.ring[choice.protocol];
  const Steps steps = ring_steps(kind, t);
  const double channels = equal_channels(choice, t);
  const double parts = in_parts(kind) ? t.ranks : 1;
  const double per_step = t.bytes / channels / parts;
  const double chunk =
      std::clamp(static_cast<double>(choice.chunk_bytes.count), 1.0, std::max(per_step, 1.0));
  FlowTiming made;
  made.flow_bytes = (in_parts(kind) ? steps.all() * t.bytes / parts : t.bytes) * p.wire_factor;
  made.limit(std::min(wire_gbps(t), channels * constants.copy_gbps * p.wire_factor) * p.efficiency);
  const double moving = us_of(made.flow_bytes, made.cap_gbps);
  made.latency_us = p.start_us;
  if (!in_parts(kind)) {
    made.latency_us += flagged_steps_us(constants, p, steps, *t.traffic, chunk, moving) +
                       queue_us(std::ceil(per_step / chunk),
                                asking_us(constants, t, chunk * p.wire_factor), moving);
    return made;
  }
  const Rounds rounds = rounds_of(per_step, chunk);
  const auto waiting = [&](double bytes, double count) {
    if (bytes <= 0 || count <= 0) return 0.0;
    const double step_moving = moving * bytes / per_step / steps.all();
    return longest_way_us(flagged_ways(constants, p, t, bytes, step_moving), t,
                          count * steps.all());
  };
  made.latency_us += waiting(rounds.chunk, rounds.full) + waiting(rounds.rest, 1);
  return made;
}

}  // namespace shardsim::nccl

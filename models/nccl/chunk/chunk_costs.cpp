#include "models/nccl/chunk/chunk_costs.hpp"

#include <algorithm>
#include <cmath>

namespace shardsim::nccl {

using cuda::CollectiveKind;

namespace {

constexpr double ps_per_us = 1e6;

/// ps for a byte at so many GB/s.
double ps_of(double gbps) { return gbps > 0 ? 1000 / gbps : 0; }

HopCost& hop(ChunkCosts& costs, ConnectionKind kind) {
  return costs.channel.hops[static_cast<std::size_t>(kind)];
}
double& per_byte(ChunkCosts& costs, Work work) {
  return costs.channel.ps_per_byte[static_cast<std::size_t>(work)];
}

/// Hops of the protocol: inside, and between nodes, where a connection carries so many messages
/// and a NIC `sends` for a chunk.
void set_hops(ChunkCosts& costs, const TimingConstants& constants, const ProtocolTiming& p,
              const TimedTransfer& t, double overlap, double messages, double sends = 1) {
  const Traffic& traffic = *t.traffic;
  HopCost cost;
  cost.burst_bytes = p.burst_bytes;
  cost.burst_ps_per_byte = p.burst_bytes > 0 ? ps_of(p.burst_gbps) : 0;
  cost.overlap = overlap;
  cost.fixed_ps = inside_us(p, traffic) * ps_per_us;
  hop(costs, ConnectionKind::inside) = cost;
  const double eager = between_us(constants, p, traffic, 0);
  cost.fixed_ps = eager * ps_per_us;
  cost.long_bytes = constants.network.eager_bytes / p.wire_factor;
  cost.long_ps = constants.network.rendezvous_us * ps_per_us;
  cost.apart_ps =
      asking_us(constants, t, constants.network.eager_bytes, messages) * ps_per_us * sends;
  hop(costs, ConnectionKind::between) = cost;
}

/// LL and LL128 where all bytes pass every hop: the share of steps that moving data do not hide.
void hide_steps(ChunkCosts& costs, const TimingConstants& constants, const ProtocolTiming& p,
                const Steps& steps, const TimedTransfer& t, double chunk, double moving_us) {
  const double alone = steps_us(constants, p, steps, *t.traffic, chunk * p.wire_factor) +
                       steps.all() * us_of(std::min(chunk, p.burst_bytes), p.burst_gbps);
  const double left = alone > 0 ? std::max(0.0, 1 - p.overlap * moving_us / alone) : 0;
  for (HopCost& cost : costs.channel.hops) {
    cost.fixed_ps *= left;
    cost.long_ps *= left;
    cost.burst_ps_per_byte *= left;
  }
}

ChunkCosts ring_costs(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                      const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[choice.protocol];
  const bool simple = choice.protocol == Protocol::simple;
  const double channels = equal_channels(choice, t);
  ChunkCosts costs;
  costs.start_us = p.start_us;
  const double wire =
      std::min(wire_gbps(t) / channels, constants.copy_gbps * p.wire_factor) * p.efficiency;
  const double pace = wire / p.wire_factor;
  per_byte(costs, Work::move) = ps_of(pace);
  const double largest = chunk_of(choice, t);
  const double messages = ring_messages(kind, choice, t);
  if (in_parts(kind)) {
    set_hops(costs, constants, p, t, simple ? 0.5 : p.overlap, messages);
    if (!simple) return costs;
    per_byte(costs, Work::keep) = ps_of(own_copy_gbps(constants, kind, t.byte_type));
    costs.end_us =
        constants.last_slice * us_of(std::min(t.bytes / channels / t.ranks, largest), pace);
    hop(costs, ConnectionKind::inside).least_ps = p.exposed * inside_us(p, *t.traffic) * ps_per_us;
    hop(costs, ConnectionKind::between).least_ps = 0;
    return costs;
  }
  per_byte(costs, Work::keep) = per_byte(costs, Work::move);
  set_hops(costs, constants, p, t, simple ? 1 - constants.last_slice : 1, messages);
  if (!simple) {
    hide_steps(costs, constants, p, ring_steps(kind, t), t, std::min(t.bytes / channels, largest),
               us_of(t.bytes / channels, pace));
  }
  return costs;
}

ChunkCosts tree_costs(const TimingConstants& constants, const Choice& choice,
                      const TimedTransfer& t) {
  const ProtocolTiming& p = constants.tree[choice.protocol];
  const bool simple = choice.protocol == Protocol::simple;
  const double channels = equal_channels(choice, t);
  ChunkCosts costs;
  costs.start_us = p.start_us;
  // A channel reduces and copies at once: half of its threads for each direction.
  const double copies = constants.copy_gbps / 2 * p.wire_factor * p.efficiency;
  const double links = simple ? wire_gbps(t, p.efficiency) : wire_gbps(t) * p.efficiency;
  const double pace = std::min(links / channels, copies) / p.wire_factor;
  per_byte(costs, Work::move) = ps_of(pace);
  per_byte(costs, Work::keep) = ps_of(pace);
  set_hops(costs, constants, p, t, simple ? 1 - constants.tree_fill : 1, tree_messages(choice, t),
           tree_sends(t));
  if (!simple) {
    const double largest = chunk_of(choice, t);
    hide_steps(costs, constants, p, tree_steps(t), t, std::min(t.bytes / channels, largest),
               us_of(t.bytes / channels, pace));
  }
  return costs;
}

ChunkCosts pat_costs(const TimingConstants& constants, const Choice& choice,
                     const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  ChunkCosts costs;
  costs.start_us = p.start_us;
  per_byte(costs, Work::move) = ps_of(wire_gbps(t) / equal_channels(choice, t));
  set_hops(costs, constants, p, t, 0, 0);
  return costs;
}

ChunkCosts multicast_costs(const TimingConstants& constants, CollectiveKind kind,
                           const Choice& choice, const TimedTransfer& t, int heads) {
  const double channels = equal_channels(choice, t);
  const double loops = std::ceil(t.bytes / channels / heads / chunk_of(choice, t));
  const bool both = kind == CollectiveKind::all_reduce;
  const double efficiency =
      both ? constants.multicast_efficiency : constants.multicast_gather_efficiency;
  const double loop = ps_of(wire_gbps(t, efficiency) / channels);  // per byte of a loop
  ChunkCosts costs;
  costs.start_us = constants.multicast_start_us + t.traffic->inside.mean.microseconds();
  per_byte(costs, Work::multicast) = loop * heads;
  // An all-reduce's last piece waits for all that are scattered before it and is gathered alone.
  const double stages = both ? 1 + 1.0 / heads : 1;
  const double share = std::min(1.0, constants.multicast_fill / stages);
  per_byte(costs, Work::scatter) = share * loop;
  const double rest = constants.multicast_fill - share * stages;
  hop(costs, ConnectionKind::by_switch).ps_per_byte = rest / (both ? 2 : 1) * loop * heads;
  HopCost between;
  between.fixed_ps =
      (t.traffic->between.mean.microseconds() + constants.multicast_network_step_us) * ps_per_us;
  between.overlap = 1 - constants.multicast_network_fill;
  between.long_bytes = constants.network.eager_bytes;
  between.long_ps = constants.network.rendezvous_us * ps_per_us;
  between.apart_ps =
      tree_sends(t) * asking_us(constants, t, constants.network.eager_bytes, loops) * ps_per_us;
  hop(costs, ConnectionKind::between) = between;
  return costs;
}

}  // namespace

ChunkCosts chunk_costs(const TimingConstants& constants, CollectiveKind kind, const Choice& choice,
                       const TimedTransfer& transfer, int nvls_heads) {
  switch (choice.algorithm) {
    case Algorithm::tree:
      return tree_costs(constants, choice, transfer);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return multicast_costs(constants, kind, choice, transfer, std::max(nvls_heads, 1));
    case Algorithm::pat:
      return pat_costs(constants, choice, transfer);
    default:
      return ring_costs(constants, kind, choice, transfer);
  }
}

}  // namespace shardsim::nccl

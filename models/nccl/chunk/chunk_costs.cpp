#include "models/nccl/chunk/chunk_costs.hpp"

#include <algorithm>

namespace shardsim::nccl {

namespace {

constexpr double ps_per_us = 1e6;

/// ps for a byte at so many GB/s.
double ps_of(double gbps) { return gbps > 0 ? 1000 / gbps : 0; }

double wire_gbps(const TimedTransfer& t) { return t.traffic->rate.bytes_per_second * 1e-9; }

HopCost& hop(ChunkCosts& costs, ConnectionKind kind) {
  return costs.channel.hops[static_cast<std::size_t>(kind)];
}
double& per_byte(ChunkCosts& costs, Work work) {
  return costs.channel.ps_per_byte[static_cast<std::size_t>(work)];
}

void set_hops(ChunkCosts& costs, const ProtocolTiming& p, const Traffic& traffic, double overlap) {
  HopCost cost;
  cost.burst_bytes = p.burst_bytes;
  cost.burst_ps_per_byte = p.burst_bytes > 0 ? ps_of(p.burst_gbps) : 0;
  cost.overlap = overlap;
  cost.fixed_ps = (traffic.inside.mean.microseconds() + p.step_us) * ps_per_us;
  hop(costs, ConnectionKind::inside) = cost;
  cost.fixed_ps = (traffic.between.mean.microseconds() + p.network_step_us) * ps_per_us;
  hop(costs, ConnectionKind::between) = cost;
}

ChunkCosts ring_costs(const TimingConstants& constants, Collective collective, const Choice& choice,
                      double channels, const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[choice.protocol];
  ChunkCosts costs;
  costs.start_us = p.start_us;
  const double wire = std::min(wire_gbps(t) / channels, constants.copy_gbps * p.wire_factor);
  per_byte(costs, Work::move) = ps_of(wire * p.efficiency / p.wire_factor);
  const bool chain = collective == Collective::broadcast || collective == Collective::reduce;
  const double share = chain ? following_share(p, choice.protocol, 1, 1) : p.overlap;
  set_hops(costs, p, *t.traffic, share);
  if (choice.protocol == Protocol::simple) {
    per_byte(costs, Work::keep) = ps_of(constants.copy_gbps);
  } else if (chain) {
    per_byte(costs, Work::keep) = share * per_byte(costs, Work::move);
  }
  return costs;
}

ChunkCosts tree_costs(const TimingConstants& constants, const Choice& choice, double channels,
                      const TimedTransfer& t) {
  const ProtocolTiming& p = constants.tree[choice.protocol];
  ChunkCosts costs;
  costs.start_us = p.start_us;
  const double copies = constants.copy_gbps / 2 * p.wire_factor;
  const double wire = std::min(wire_gbps(t) / channels, copies);
  const double alone = std::min(2 * wire_gbps(t) / channels, copies);
  const double share = following_share(p, choice.protocol, wire, alone);
  per_byte(costs, Work::move) = ps_of(wire * p.efficiency / p.wire_factor);
  per_byte(costs, Work::keep) = share * per_byte(costs, Work::move);
  set_hops(costs, p, *t.traffic, share);
  return costs;
}

ChunkCosts pat_costs(const TimingConstants& constants, double channels, const TimedTransfer& t) {
  const ProtocolTiming& p = constants.ring[Protocol::simple];
  ChunkCosts costs;
  costs.start_us = p.start_us;
  per_byte(costs, Work::move) = ps_of(wire_gbps(t) / channels);
  set_hops(costs, p, *t.traffic, p.overlap);
  return costs;
}

ChunkCosts multicast_costs(const TimingConstants& constants, Collective collective, double channels,
                           const TimedTransfer& t, int heads) {
  const bool both = collective == Collective::all_reduce;
  const double efficiency =
      both ? constants.multicast_efficiency : constants.multicast_gather_efficiency;
  const double loop = ps_of(wire_gbps(t) * efficiency / channels);  // per byte of a loop
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
  hop(costs, ConnectionKind::between) = between;
  return costs;
}

}  // namespace

void share_network_hops(int nodes, int crossings, ChannelCosts& costs) {
  const double inside = costs.hops[static_cast<std::size_t>(ConnectionKind::inside)].fixed_ps;
  double& between = costs.hops[static_cast<std::size_t>(ConnectionKind::between)].fixed_ps;
  if (crossings > 0) between = inside + (between - inside) * (nodes - 1) / crossings;
}

double equal_channels(const ChannelRange& range) {
  std::int64_t total = 0;
  std::int64_t most = 0;
  for (int channel = range.first; channel <= range.last; ++channel) {
    total += range.part(channel).elements;
    most = std::max(most, range.part(channel).elements);
  }
  return most > 0 ? static_cast<double>(total) / static_cast<double>(most) : 1;
}

ChunkCosts chunk_costs(const TimingConstants& constants, Collective collective,
                       const Choice& choice, double channels, const TimedTransfer& transfer,
                       int nvls_heads) {
  switch (choice.algorithm) {
    case Algorithm::tree:
      return tree_costs(constants, choice, channels, transfer);
    case Algorithm::nvls:
    case Algorithm::nvls_tree:
      return multicast_costs(constants, collective, channels, transfer, nvls_heads);
    case Algorithm::pat:
      return pat_costs(constants, channels, transfer);
    default:
      return ring_costs(constants, collective, choice, channels, transfer);
  }
}

}  // namespace shardsim::nccl

#include "models/nccl/ring_model.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/nccl/collective_timing.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;
using simcore::BitRate;
using simcore::SimTime;

namespace {

constexpr int most_channels = 64;

/// A collective as steps and data.
struct Schedule {
  Pattern pattern = Pattern::ring;
  double data_bytes = 0;  ///< of the pattern's flow, without overhead
  std::int64_t inside_steps = 0;
  std::int64_t between_steps = 0;
  bool messages = false;  ///< point to point
};

Schedule ring_schedule(Pattern pattern, double bytes, const CommunicatorPlan& plan, int rounds) {
  const std::int64_t steps = std::int64_t{rounds} * (plan.ranks() - 1);
  const std::int64_t between = std::int64_t{rounds} * (plan.nodes() - 1);
  return Schedule{pattern, bytes, steps - between, between, false};
}

Schedule message_schedule(Pattern pattern, double bytes, const CommunicatorPlan& plan) {
  const bool between = plan.nodes() > 1;
  return Schedule{pattern, bytes, between ? 0 : 1, between ? 1 : 0, true};
}

Schedule schedule_of(const cuda::CollectiveSpec& spec, const CommunicatorPlan& plan) {
  const double bytes = static_cast<double>(spec.bytes.count);
  const double ranks = plan.ranks();
  switch (spec.kind) {
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter:
      return ring_schedule(Pattern::ring, bytes * (ranks - 1) / ranks, plan, 1);
    case CollectiveKind::all_reduce:
      return ring_schedule(Pattern::ring, bytes * 2 * (ranks - 1) / ranks, plan, 2);
    case CollectiveKind::broadcast:
      return ring_schedule(Pattern::from_first, bytes, plan, 1);
    case CollectiveKind::reduce:
      return ring_schedule(Pattern::to_first, bytes, plan, 1);
    case CollectiveKind::sendrecv:
      return message_schedule(Pattern::neighbours, bytes, plan);
    case CollectiveKind::alltoall:
      return message_schedule(Pattern::all_pairs, bytes / ranks, plan);
  }
  return {};
}

/// Channels on which NCCL lays its rings, before it doubles them.
int ring_channels(const CommunicatorPlan& plan, const RingTuning& tuning) {
  const auto rings = static_cast<int>(plan.ring_plan().rings.size());
  const Traffic& ring = plan.ring();
  if (plan.nodes() > 1 || !ring.inside_by_nvlink) return rings;
  const double fit = ring.rate.bytes_per_second / tuning.channel_bandwidth.bytes_per_second;
  return std::clamp(static_cast<int>(std::lround(fit)), 1, most_channels / 2);
}

/// Channels that an operation of this size keeps busy.
int used_channels(const ProtocolTuning& protocol, int channels, double bytes, int ranks) {
  const double least = static_cast<double>(protocol.threads) * protocol.bytes_per_thread *
                       (protocol.bytes_per_rank ? ranks : 1);
  const double busy = std::floor(bytes / least);
  return busy >= channels ? channels : std::max(1, static_cast<int>(busy));
}

SimTime step_latency(const ProtocolTuning& protocol, const Schedule& schedule,
                     const Traffic& traffic, const CommunicatorPlan& plan) {
  SimTime inside =
      traffic.inside.mean + (traffic.inside_by_nvlink ? protocol.nvlink_step : protocol.pcie_step);
  if (plan.nodes() > 1) inside = std::max(inside, protocol.least_inside_step);
  const bool alone = plan.ranks() == plan.nodes();
  const SimTime between =
      traffic.between.mean + (alone ? protocol.network_step_alone : protocol.network_step);
  return protocol.base + inside * schedule.inside_steps + between * schedule.between_steps;
}

/// What the data of a protocol reach, in bytes/s, where nothing else uses the links.
double data_rate(const ProtocolTuning& protocol, const Schedule& schedule, const Traffic& traffic,
                 const CommunicatorPlan& plan, int channels) {
  const double wire = traffic.rate.bytes_per_second;
  double rate = wire / protocol.wire_factor;
  if (schedule.messages) return rate;
  rate = std::min(rate, wire * protocol.efficiency);
  const BitRate limit = plan.nodes() == 1   ? protocol.limit
                        : plan.nodes() == 2 ? protocol.limit_between[0]
                                            : protocol.limit_between[1];
  for (const double most :
       {limit.bytes_per_second, protocol.channel_limit.bytes_per_second * channels}) {
    if (most > 0) rate = std::min(rate, most);
  }
  return rate;
}

bool usable(const ProtocolTuning& protocol, const Schedule& schedule, const Traffic& traffic) {
  if (!protocol.needs_ordered_stores) return true;
  return !schedule.messages && traffic.inside_by_nvlink && !traffic.network_by_cpu;
}

bool multicast_reduces(gpu::DataType type) {
  return type == gpu::DataType::fp32 || type == gpu::DataType::bf16 || type == gpu::DataType::fp16;
}

/// A timing and how long it would take alone.
struct Candidate {
  CollectiveTiming timing;
  double seconds = 0;
};

Candidate with_protocol(const ProtocolTuning& protocol, const Schedule& schedule,
                        const Traffic& traffic, const CommunicatorPlan& plan, int channels) {
  const double rate = data_rate(protocol, schedule, traffic, plan, channels);
  Candidate made;
  made.timing.latency = step_latency(protocol, schedule, traffic, plan);
  made.timing.flow_bytes = schedule.data_bytes * protocol.wire_factor;
  made.timing.traffic = &traffic;
  if (rate * protocol.wire_factor < traffic.rate.bytes_per_second * (1 - 1e-9)) {
    made.timing.cap = BitRate{rate * protocol.wire_factor};
  }
  made.timing.algorithm = schedule.messages ? "P2P" : "Ring";
  made.timing.protocol = protocol.name;
  made.timing.channels = used_channels(protocol, std::min(most_channels, 2 * channels),
                                       schedule.data_bytes, plan.ranks());
  if (schedule.messages) {
    const int peers = schedule.pattern == Pattern::all_pairs ? plan.ranks() - 1 : 1;
    const int most = 2 * channels;  // as many as rings have, two of them for a peer
    made.timing.share = share_of_peer(std::min(2 * peers, most), peers, most);
  }
  made.seconds = made.timing.latency.seconds() + schedule.data_bytes / rate;
  return made;
}

Candidate with_multicast(const MulticastTuning& tuning, const cuda::CollectiveSpec& spec,
                         const Traffic& traffic) {
  Candidate made;
  made.timing.latency = traffic.inside.mean + tuning.step;
  made.timing.flow_bytes = static_cast<double>(spec.bytes.count);
  made.timing.traffic = &traffic;
  made.timing.cap = BitRate{traffic.rate.bytes_per_second * tuning.efficiency};
  made.timing.algorithm = "NVLS";
  made.timing.protocol = "Simple";
  made.timing.channels = tuning.channels;
  made.seconds =
      made.timing.latency.seconds() + made.timing.flow_bytes / made.timing.cap.bytes_per_second;
  return made;
}

}  // namespace

std::expected<CollectiveTiming, NoRoute> RingModel::timing(const cuda::CollectiveSpec& spec,
                                                           CommunicatorPlan& plan) const {
  if (plan.ranks() == 1) return CollectiveTiming{};
  const Schedule schedule = schedule_of(spec, plan);
  const auto traffic = plan.traffic(schedule.pattern);
  if (!traffic) return std::unexpected(traffic.error());
  if (const auto ring = plan.traffic(Pattern::ring); !ring) return std::unexpected(ring.error());
  const int channels = ring_channels(plan, tuning_);
  std::optional<Candidate> best;
  const auto consider = [&best](const Candidate& candidate) {
    if (!best || candidate.seconds < best->seconds) best = candidate;
  };
  for (const ProtocolTuning& protocol : tuning_.protocols) {
    if (!usable(protocol, schedule, **traffic)) continue;
    consider(with_protocol(protocol, schedule, **traffic, plan, channels));
  }
  if (spec.kind == CollectiveKind::all_reduce && tuning_.multicast.efficiency > 0 &&
      plan.on_nvswitch() && multicast_reduces(spec.type)) {
    const auto multicast = plan.traffic(Pattern::multicast);
    if (!multicast) return std::unexpected(multicast.error());
    consider(with_multicast(tuning_.multicast, spec, **multicast));
  }
  return best ? best->timing : CollectiveTiming{};
}

}  // namespace shardsim::nccl

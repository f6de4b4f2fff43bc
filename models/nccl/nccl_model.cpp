#include "models/nccl/nccl_model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "models/nccl/chunk/chunked_collective.hpp"
#include "models/nccl/chunk/message_exchange.hpp"
#include "models/nccl/collective_timing.hpp"
#include "models/nccl/sockets.hpp"

namespace shardsim::nccl {

using simcore::SimTime;

namespace {

SimTime from_us(double us) {
  constexpr double most = 9e12;  // what 64 bits of picoseconds hold
  return us < most ? SimTime::picoseconds(std::llround(us * 1e6)) : SimTime::latest();
}

/// The sizes that the user sets.
TimingConstants with_environment(TimingConstants constants, const Planner& planner) {
  const Environment& environment = planner.setup().environment;
  if (planner.by_sockets()) {
    for (const Protocol protocol : all_protocols) {
      constants.ring[protocol].network_step_us += socket_step_us;
      constants.tree[protocol].network_step_us += socket_step_us;
    }
    constants.network.rendezvous_us = 0;
  }
  const auto set = [](const Setting& setting, double& value) {
    if (setting) value = static_cast<double>(*setting);
  };
  set(environment.p2p_ll_threshold_bytes, constants.message_ll_bytes);
  set(environment.p2p_net_chunk_bytes, constants.network.piece_bytes);
  return constants;
}

/// GB/s of a flow whose NICs' `proxies` each copy what they send; 0 if they do not.
double driven_gbps(const Planner& planner, const Traffic& traffic, double proxies) {
  const Environment& environment = planner.setup().environment;
  if (traffic.nic_share <= 0 || !planner.by_sockets()) return 0;
  return proxies * socket_gbps(environment) / traffic.nic_share;
}

/// GPUs for each NIC of a node.
double gpus_per_nic(const PlannedCommunicator& planned) {
  const auto nics = static_cast<double>(planned.system->nets.size());
  return nics > 0 ? std::max(1.0, planned.shape.ranks_per_node() / nics) : 1;
}

CollectiveTiming timing_of(const FlowTiming& flow, const Traffic& traffic) {
  CollectiveTiming made;
  made.latency = from_us(flow.latency_us);
  made.flow_bytes = flow.flow_bytes;
  made.traffic = &traffic;
  if (flow.cap_gbps > 0 && flow.cap_gbps * 1e9 < traffic.rate.bytes_per_second * (1 - 1e-9)) {
    made.cap = simcore::BitRate{flow.cap_gbps * 1e9};
  }
  return made;
}

TimedTransfer transfer_of(const cuda::CollectiveSpec& spec, const CommunicatorPlan& plan,
                          const Traffic& traffic) {
  return {static_cast<double>(spec.bytes.count), plan.ranks(), plan.nodes(), &traffic,
          gpu::bytes_per_element(spec.type) == 1};
}

/// The same for a collective of which `choice` is carried out.
TimedTransfer transfer_of(const cuda::CollectiveSpec& spec, const CommunicatorPlan& plan,
                          const Traffic& traffic, const PlannedCommunicator& planned,
                          const Operation& operation, const Choice& choice) {
  TimedTransfer made = transfer_of(spec, plan, traffic);
  if (choice.algorithm == Algorithm::tree) made.tree = tree_path(planned);
  if (!in_parts(spec.kind)) {
    made.chain_crossings = chain_crossings(planned, spec.kind, choice.channels);
  }
  const ScheduledOperation scheduled = planned.selector->scheduled(operation, choice);
  if (scheduled.elements > 0) {
    const ChannelRange range =
        schedule(planned.selector->schedule_inputs(), std::span(&scheduled, 1)).front();
    made.channels = equal_channels(range);
    const ChannelPart* fullest = &range.low;
    for (std::size_t i = 0; const ChannelPart* part : {&range.low, &range.middle, &range.high}) {
      made.kinds[i++] = {static_cast<double>(part->elements * scheduled.element_bytes),
                         static_cast<double>(part->chunking.chunk_bytes)};
      if (part->elements > fullest->elements) fullest = part;
    }
    made.chunk_bytes = static_cast<double>(fullest->chunking.chunk_bytes);
    // Every channel of NVLS trees has a piece for each head's NIC.
    made.channels_per_nic = choice.algorithm == Algorithm::ring
                                ? channels_per_nic(planned.graphs.ring, range.channels())
                            : choice.algorithm == Algorithm::tree
                                ? channels_per_nic(planned.graphs.tree, range.channels())
                                : range.channels();
  }
  return made;
}

TimedTransfer message_transfer(const Planner& planner, const PlannedCommunicator& planned,
                               const MessageRules& rules, TimedTransfer transfer) {
  transfer.message_chunk_bytes = static_cast<double>(rules.chunk_bytes);
  transfer.driven_gbps = driven_gbps(planner, *transfer.traffic, gpus_per_nic(planned));
  return transfer;
}

/// Makes the whole take `time` where nothing else uses the links.
void set_time(SimTime time, CollectiveTiming& timing) {
  double rate = timing.traffic->rate.bytes_per_second;
  if (timing.cap.bytes_per_second > 0) rate = std::min(rate, timing.cap.bytes_per_second);
  if (rate <= 0) {
    timing.latency = time;
    return;
  }
  const double seconds = timing.flow_bytes / rate;
  timing.latency = std::max(SimTime{}, time - SimTime::from_seconds(seconds));
  if (seconds > time.seconds()) timing.flow_bytes = time.seconds() * rate;
}

}  // namespace

NcclModel::NcclModel(const Planner& planner, TimingConstants constants, RingTuning stand_in,
                     DataPath path)
    : planner_(planner),
      constants_(with_environment(constants, planner)),
      rings_(std::move(stand_in)),
      path_(path) {}

std::expected<CollectiveTiming, NoRoute> NcclModel::timing(const cuda::CollectiveSpec& spec,
                                                           CommunicatorPlan& plan) const {
  auto made = carry_out(spec, plan);
  if (!made) return std::unexpected(std::move(made.error()));
  return made->timing;
}

std::expected<CarriedOut, NoRoute> NcclModel::carry_out(const cuda::CollectiveSpec& spec,
                                                        CommunicatorPlan& plan) const {
  return carry_out(spec, plan, path_);
}

std::expected<CarriedOut, NoRoute> NcclModel::carry_out(const cuda::CollectiveSpec& spec,
                                                        CommunicatorPlan& plan,
                                                        DataPath path) const {
  if (plan.ranks() == 1) return CarriedOut{};
  const auto shape = shape_of(plan.graph(), plan.domains());
  if (!shape) return stand_in(spec, plan, "a communicator with nodes of unequal size");
  const auto planned = planner_.plan(*shape);
  if (!planned) return stand_in(spec, plan, planned.error());
  plan.follow(planner_);
  return carry_out(spec, plan, **planned, path);
}

std::expected<CarriedOut, NoRoute> NcclModel::stand_in(const cuda::CollectiveSpec& spec,
                                                       CommunicatorPlan& plan,
                                                       std::string why) const {
  notes_.insert(fmt::format("rings in general stand in for NCCL's choice: {}", why));
  auto made = rings_.timing(spec, plan);
  if (!made) return std::unexpected(std::move(made.error()));
  return CarriedOut{*made, std::nullopt};
}

std::expected<CarriedOut, NoRoute> NcclModel::carry_out(const cuda::CollectiveSpec& spec,
                                                        CommunicatorPlan& plan,
                                                        const PlannedCommunicator& planned,
                                                        DataPath path) const {
  const auto collective = collective_of(spec.kind);
  if (!collective) return send_messages(spec, plan, planned, path);
  const auto choice = planned.selector->choose({*collective, spec.bytes, spec.type});
  if (!choice) return stand_in(spec, plan, choice.error());
  if (is_collnet(choice->algorithm)) return stand_in(spec, plan, "CollNet is not timed");
  const bool by_switch = is_nvls(choice->algorithm);
  if (by_switch && !plan.on_nvswitches()) {
    return stand_in(spec, plan, "NVLS without NVLink switches in the topology");
  }
  const auto traffic = plan.traffic(pattern_of(spec.kind, choice->algorithm));
  if (!traffic) return std::unexpected(traffic.error());
  const Operation operation{*collective, spec.bytes, spec.type};
  TimedTransfer transfer = transfer_of(spec, plan, **traffic, planned, operation, *choice);
  transfer.driven_gbps = driven_gbps(planner_, **traffic, 1);
  const int heads = planned.selector->schedule_inputs().nvls_heads;
  CarriedOut made;
  made.timing = timing_of(flow_timing(constants_, spec.kind, *choice, transfer, heads), **traffic);
  if (path == DataPath::expected) set_time(from_us(choice->predicted_us), made.timing);
  if (path == DataPath::chunk) {
    const ChunkedCollective chunks(planned, constants_, spec.kind, operation, *choice, transfer);
    const ChunkResult result = chunks.run();
    set_time(result.time, made.timing);
    made.messages = result.messages;
    made.simulated = result.simulated;
  }
  made.timing.algorithm = name(choice->algorithm);
  made.timing.protocol = name(choice->protocol);
  made.timing.channels = choice->channels;
  made.choice = *choice;
  return made;
}

template <class OnMessages, class OnChunks>
std::expected<void, std::string> NcclModel::at_chunk_level(const cuda::CollectiveSpec& spec,
                                                           CommunicatorPlan& plan,
                                                           const OnMessages& on_messages,
                                                           const OnChunks& on_chunks) const {
  const auto shape = shape_of(plan.graph(), plan.domains());
  if (plan.ranks() == 1 || !shape) return std::unexpected("the communicator has no channels");
  const auto found = planner_.plan(*shape);
  if (!found) return std::unexpected(found.error());
  const PlannedCommunicator& planned = **found;
  plan.follow(planner_);
  const auto collective = collective_of(spec.kind);
  if (!collective) {
    const auto pairs = plan.traffic(pattern_of(spec.kind, Algorithm::ring));
    if (!pairs) return std::unexpected("no route between ranks");
    const MessageRules rules = message_rules(planned, planner_.setup().environment);
    const TimedTransfer transfer =
        message_transfer(planner_, planned, rules, transfer_of(spec, plan, **pairs));
    on_messages(MessageExchange(rules, constants_, spec.kind, transfer), planned);
    return {};
  }
  const Operation operation{*collective, spec.bytes, spec.type};
  const auto choice = planned.selector->choose(operation);
  if (!choice) return std::unexpected(choice.error());
  if (is_collnet(choice->algorithm)) return std::unexpected("CollNet has no chunk level");
  const auto traffic = plan.traffic(pattern_of(spec.kind, choice->algorithm));
  if (!traffic) return std::unexpected("no route between ranks");
  TimedTransfer transfer = transfer_of(spec, plan, **traffic, planned, operation, *choice);
  transfer.driven_gbps = driven_gbps(planner_, **traffic, 1);
  on_chunks(ChunkedCollective(planned, constants_, spec.kind, operation, *choice, transfer),
            *choice);
  return {};
}

std::expected<void, std::string> NcclModel::trace(const cuda::CollectiveSpec& spec,
                                                  CommunicatorPlan& plan,
                                                  const TraceVisitor& visit) const {
  return at_chunk_level(
      spec, plan,
      [&visit](const MessageExchange& messages, const PlannedCommunicator&) {
        messages.trace(visit);
      },
      [&visit](const ChunkedCollective& chunks, const Choice&) { chunks.trace(visit); });
}

std::expected<ChunkWork, std::string> NcclModel::work(const cuda::CollectiveSpec& spec,
                                                      CommunicatorPlan& plan) const {
  std::expected<ChunkWork, std::string> made = std::unexpected("nothing was planned");
  const auto done = at_chunk_level(
      spec, plan,
      [&made](const MessageExchange& messages, const PlannedCommunicator& planned) {
        made = messages.work(planned.selector->schedule_inputs().buffer_bytes);
      },
      [&made](const ChunkedCollective& chunks, const Choice& choice) {
        if (choice.algorithm == Algorithm::ring || choice.algorithm == Algorithm::tree) {
          made = chunks.work();
        } else {
          made = std::unexpected("works are written of rings, trees and messages only");
        }
      });
  if (!done) return std::unexpected(done.error());
  return made;
}

std::expected<CarriedOut, NoRoute> NcclModel::send_messages(const cuda::CollectiveSpec& spec,
                                                            CommunicatorPlan& plan,
                                                            const PlannedCommunicator& planned,
                                                            DataPath path) const {
  const auto traffic = plan.traffic(pattern_of(spec.kind, Algorithm::ring));
  if (!traffic) return std::unexpected(traffic.error());
  const MessageRules rules = message_rules(planned, planner_.setup().environment);
  const TimedTransfer transfer =
      message_transfer(planner_, planned, rules, transfer_of(spec, plan, **traffic));
  CarriedOut made;
  made.timing = timing_of(message_timing(constants_, spec.kind, transfer), **traffic);
  if (path == DataPath::chunk) {
    const MessageExchange messages(rules, constants_, spec.kind, transfer);
    const ChunkResult result = messages.run();
    set_time(result.time, made.timing);
    made.messages = result.messages;
    made.simulated = result.simulated;
  }
  made.timing.algorithm = "P2P";
  const bool in_parts = spec.kind == cuda::CollectiveKind::alltoall;
  made.timing.protocol =
      name(message_protocol(constants_, transfer.bytes / (in_parts ? plan.ranks() : 1)));
  made.timing.channels = rules.channels;
  const int peers = in_parts ? plan.ranks() - 1 : 1;
  const int connections = std::min(peers * rules.channels_per_peer, rules.channels);
  const std::int64_t rings = planned.selector->schedule_inputs().channels.collective;
  made.timing.share = share_of_peer(connections, peers, static_cast<double>(rings));
  return made;
}

}  // namespace shardsim::nccl

#include "models/nccl/chunk/message_exchange.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardsim::nccl {

using cuda::CollectiveKind;
using simcore::SimTime;

MessageExchange::MessageExchange(const MessageRules& rules, const TimingConstants& constants,
                                 CollectiveKind kind, const TimedTransfer& transfer)
    : rules_(rules), kind_(kind), rounds_(message_rounds(rules)) {
  const bool all_pairs = kind == CollectiveKind::alltoall;
  bytes_ = std::llround(transfer.bytes) / (all_pairs ? transfer.ranks : 1);
  cut_ = cut_message(rules, bytes_);
  const FlowTiming flow = message_timing(constants, kind, transfer);
  const double moving_us = flow.cap_gbps > 0 ? flow.flow_bytes / flow.cap_gbps * 1e-3 : 0;
  const auto size = static_cast<double>(bytes_);
  const ProtocolTiming& p = constants.ring[message_protocol(constants, size)];
  const double inside = inside_us(p, *transfer.traffic);
  const double between = between_us(constants, p, *transfer.traffic, size * p.wire_factor);
  // One hop is part of the flow's latency.
  start_us_ = flow.latency_us - (transfer.nodes > 1 ? between : inside);
  inside_.fixed_ps = inside * 1e6;
  between_.fixed_ps = between * 1e6;
  // The fullest channel of the first rank; all ranks have as much to send.
  std::int64_t most = 0;
  for (int channel = 0; channel < rules_.channels; ++channel) {
    std::int64_t sum = 0;
    for (const MessageRound& round : rounds_) {
      const int to = receiver_of(rules_, round, 0);
      const int part = (channel - round.first_channel + rules_.channels) % rules_.channels;
      if (to != 0 && wanted(0, to) && part < cut_.parts) sum += part_bytes(part);
    }
    most = std::max(most, sum);
  }
  ps_per_byte_ = most > 0 ? moving_us * 1e6 / static_cast<double>(most) : 0;
}

bool MessageExchange::wanted(int from, int to) const {
  return kind_ == CollectiveKind::alltoall || to == (from + 1) % rules_.ranks();
}

std::int64_t MessageExchange::part_bytes(int part) const {
  return std::clamp<std::int64_t>(bytes_ - part * cut_.part_bytes, 0, cut_.part_bytes);
}

void MessageExchange::send_part(ChannelState& state, int from, int to, std::int64_t bytes) const {
  const auto sender = static_cast<std::size_t>(from);
  const auto receiver = static_cast<std::size_t>(to);
  const HopCost& hop = between(from, to) ? between_ : inside_;
  const std::int64_t window = std::int64_t{steps_per_buffer} * (between(from, to) ? 2 : 1);
  std::array<std::int64_t, std::size_t{2} * steps_per_buffer> freed{};
  std::int64_t& send_free = state.send_free_ps[sender];
  std::int64_t& receive_free = state.receive_free_ps[receiver];
  std::int64_t number = 0;
  for (std::int64_t rest = bytes; rest > 0; ++number) {
    const std::int64_t chunk = std::min(rest, cut_.chunk_bytes);
    rest -= chunk;
    const auto moving = static_cast<std::int64_t>(static_cast<double>(chunk) * ps_per_byte_ + 0.5);
    std::int64_t& slot = freed[static_cast<std::size_t>(number % window)];
    const std::int64_t start = number < window ? send_free : std::max(send_free, slot);
    send_free = start + moving;
    const std::int64_t taken = std::max(receive_free, send_free + hop.picoseconds(chunk, moving));
    receive_free = taken;
    slot = taken;
    ++state.messages;
    if (state.sent == nullptr) continue;
    const SimTime offset = SimTime::from_seconds(start_us_ * 1e-6);
    const auto at = [offset](std::int64_t ps) { return SimTime::picoseconds(ps) + offset; };
    (*state.sent)[sender].push_back(
        {{from, state.channel, 0, number, number, to, chunk, TraceAction::send},
         {at(start), at(send_free)}});
    (*state.received)[receiver].push_back(
        {{to, state.channel, 1, number, number, from, chunk, TraceAction::receive},
         {at(taken), at(taken)}});
  }
}

void MessageExchange::run_channel(ChannelState& state) const {
  const auto ranks = static_cast<std::size_t>(rules_.ranks());
  state.send_free_ps.assign(ranks, 0);
  state.receive_free_ps.assign(ranks, 0);
  for (const MessageRound& round : rounds_) {
    const int part = (state.channel - round.first_channel + rules_.channels) % rules_.channels;
    if (part >= cut_.parts) continue;
    const std::int64_t bytes = part_bytes(part);
    for (int from = 0; from < rules_.ranks(); ++from) {
      const int to = receiver_of(rules_, round, from);
      if (!wanted(from, to)) continue;
      if (to != from) {
        send_part(state, from, to, bytes);
      } else if (state.sent != nullptr) {
        // The rank's own part is copied before the first message; its time is in the start.
        const SimTime offset = SimTime::from_seconds(start_us_ * 1e-6);
        (*state.sent)[static_cast<std::size_t>(from)].push_back(
            {{from, state.channel, 0, 0, 0, from, bytes, TraceAction::copy}, {offset, offset}});
      }
    }
  }
}

ChunkResult MessageExchange::run() const {
  ChunkResult result;
  std::int64_t longest = 0;
  for (int channel = 0; channel < rules_.channels; ++channel) {
    ChannelState state;
    state.channel = channel;
    run_channel(state);
    result.messages += state.messages;
    for (const std::int64_t end : state.receive_free_ps) longest = std::max(longest, end);
  }
  result.simulated = result.messages;
  result.time = SimTime::from_seconds(start_us_ * 1e-6) + SimTime::picoseconds(longest);
  return result;
}

void MessageExchange::trace(const TraceVisitor& visit) const {
  const auto ranks = static_cast<std::size_t>(rules_.ranks());
  struct Rows {
    std::vector<std::vector<Row>> sent;
    std::vector<std::vector<Row>> received;
  };
  std::vector<Rows> channels(static_cast<std::size_t>(rules_.channels));
  for (int channel = 0; channel < rules_.channels; ++channel) {
    Rows& rows = channels[static_cast<std::size_t>(channel)];
    rows.sent.resize(ranks);
    rows.received.resize(ranks);
    ChannelState state;
    state.channel = channel;
    state.sent = &rows.sent;
    state.received = &rows.received;
    run_channel(state);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const Rows& rows : channels) {
      for (const Row& row : rows.sent[rank]) visit(row.record, row.times);
      for (const Row& row : rows.received[rank]) visit(row.record, row.times);
    }
  }
}

ChunkWork MessageExchange::work(const PerProtocol<std::int64_t>& buffer_bytes) const {
  ChunkWork made;
  made.protocol = cut_.protocol;
  made.ranks = rules_.ranks();
  // A step of the Simple protocol is a chunk here.
  made.step_bytes = cut_.protocol == Protocol::simple
                        ? cut_.chunk_bytes
                        : buffer_bytes[cut_.protocol] / steps_per_buffer;
  made.messages = {bytes_, cut_, rules_.channels, rules_.group_size, rounds_};
  return made;
}

}  // namespace shardsim::nccl

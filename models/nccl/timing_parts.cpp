// The parts of collective_timing.hpp that closed forms and single messages share.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <span>

#include "models/nccl/collective_timing.hpp"
#include "models/nccl/connect.hpp"

namespace shardsim::nccl {

using cuda::CollectiveKind;

double us_of(double bytes, double gbps) { return gbps > 0 ? bytes / gbps * 1e-3 : 0; }

double wire_gbps(const TimedTransfer& transfer) {
  const double links = transfer.traffic->rate.bytes_per_second * 1e-9;
  return transfer.driven_gbps > 0 ? std::min(links, transfer.driven_gbps) : links;
}

double wire_gbps(const TimedTransfer& transfer, double nvlink_share) {
  const double nvlink = transfer.traffic->nvlink_rate.bytes_per_second * 1e-9;
  const double wire = wire_gbps(transfer);
  return nvlink > 0 ? std::min(wire, nvlink * nvlink_share) : wire;
}

bool in_parts(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather ||
         kind == CollectiveKind::reduce_scatter;
}

double equal_channels(const Choice& choice, const TimedTransfer& t) {
  return t.channels > 0 ? t.channels : choice.channels;
}

double chunk_of(const Choice& choice, const TimedTransfer& t) {
  const auto chosen = static_cast<double>(choice.chunk_bytes.count);
  return std::max(1.0, t.chunk_bytes > 0 ? t.chunk_bytes : chosen);
}

double ring_crossings(const TimedTransfer& t, double steps) {
  if (t.nodes <= 1 || steps < 1) return 0;
  return 1 + std::floor((steps - 1) * t.nodes / t.ranks);
}

Steps ring_steps(CollectiveKind kind, const TimedTransfer& t) {
  const double all = (kind == CollectiveKind::all_reduce ? 2.0 : 1.0) * (t.ranks - 1);
  const double between =
      in_parts(kind) ? ring_crossings(t, all) : t.chain_crossings.value_or(t.nodes - 1);
  return {all - between, between};
}

int chain_crossings(const PlannedCommunicator& planned, CollectiveKind kind, int channels) {
  const int nodes = planned.shape.nodes;
  if (nodes == 1) return 0;
  const bool spreads = kind == CollectiveKind::broadcast;
  const std::vector<GraphChannel>& rings = planned.graphs.ring.channels;
  const auto used = std::min(static_cast<std::size_t>(channels), rings.size());
  const bool comes_back =
      std::ranges::any_of(std::span(rings).first(used), [spreads](const GraphChannel& channel) {
        return (spreads ? channel.ranks.front() : channel.ranks.back()) != 0;
      });
  return comes_back ? nodes : nodes - 1;
}

Steps tree_path(const PlannedCommunicator& planned) {
  const int per_node = planned.shape.ranks_per_node();
  const NodeRanks nodes = consecutive_ranks(planned.shape.nodes, per_node);
  Steps longest;
  for (const auto& links :
       connect_trees(planned.graphs.tree, nodes, 2 * planned.graphs.tree.channel_count())) {
    for (std::size_t rank = 0; rank < links.size(); ++rank) {
      Steps path;
      for (int at = static_cast<int>(rank), up = links[rank].up; up >= 0;
           at = up, up = links[static_cast<std::size_t>(up)].up) {
        (at / per_node == up / per_node ? path.inside : path.between) += 1;
      }
      // A hop between nodes takes longer than any inside one of them.
      const bool farther = path.between > longest.between ||
                           (path.between == longest.between && path.inside > longest.inside);
      if (farther) longest = path;
    }
  }
  return longest;
}

Steps tree_steps(const TimedTransfer& t) {
  if (t.tree) return {2 * t.tree->inside, 2 * t.tree->between};
  const double local = static_cast<double>(t.ranks) / t.nodes;
  return {2 * (local - 1), 2.0 * tree_levels(t.nodes)};
}

int tree_levels(int nodes) { return std::bit_width(static_cast<unsigned>(std::max(nodes, 1)) - 1); }

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

double channels_per_nic(const ChannelGraph& graph, int channels) {
  std::map<int, int> by_nic;
  int most = 1;
  for (int channel = 0; channel < channels && graph.channel_count() > 0; ++channel) {
    const auto at = static_cast<std::size_t>(channel % graph.channel_count());
    most = std::max(most, ++by_nic[graph.channels[at].net_out]);
  }
  return most;
}

double ring_messages(CollectiveKind kind, const Choice& choice, const TimedTransfer& t) {
  const double chunk = chunk_of(choice, t);
  const double part = t.bytes / equal_channels(choice, t) / (in_parts(kind) ? t.ranks : 1);
  const double rounds = std::ceil(part / chunk);
  if (!in_parts(kind)) return rounds;
  return rounds * ring_steps(kind, t).all() * slices_of(choice.protocol, std::min(part, chunk));
}

double slices_of(Protocol protocol, double chunk) {
  // A slice has a 32nd of its steps' buffer at least (device/prims_simple.h).
  constexpr double least_slice = 32 * 1024;
  return protocol == Protocol::simple && chunk > least_slice ? 2 : 1;
}

double tree_messages(const Choice& choice, const TimedTransfer& t) {
  const double chunk = chunk_of(choice, t);
  return std::ceil(t.bytes / equal_channels(choice, t) / chunk);
}

double asking_us(const TimingConstants& constants, const TimedTransfer& t, double wire_bytes,
                 double messages) {
  const bool asks =
      wire_bytes >= constants.network.eager_bytes && messages > steps_per_buffer && t.nodes > 1;
  return asks ? t.channels_per_nic * constants.network.rendezvous_us : 0;
}

double tree_sends(const TimedTransfer& t) { return t.nodes > 2 ? 2 : 1; }

double asked_messages(const TimingConstants& constants, double bytes, double chunk,
                      double wire_factor) {
  const double full = std::floor(bytes / chunk);
  const double rest = (bytes - full * chunk) * wire_factor;
  return full + (rest >= constants.network.eager_bytes ? 1 : 0);
}

double queue_us(double count, double apart_us, double moving) {
  if (count <= 1) return 0;
  return std::max(0.0, (count - 1) * (apart_us - moving / count));
}

double flagged_steps_us(const TimingConstants& constants, const ProtocolTiming& p,
                        const Steps& steps, const Traffic& traffic, double chunk, double moving) {
  const double alone = steps_us(constants, p, steps, traffic, chunk * p.wire_factor) +
                       steps.all() * us_of(std::min(chunk, p.burst_bytes), p.burst_gbps);
  return std::max(0.0, alone - p.overlap * moving);
}

double own_copy_gbps(const TimingConstants& constants, CollectiveKind kind, bool byte_type) {
  const bool turns = kind == CollectiveKind::all_reduce;
  const bool adds = turns || kind == CollectiveKind::reduce_scatter;
  const double rate = turns ? constants.reduce_copy_gbps : constants.copy_gbps;
  return adds && byte_type ? rate / constants.byte_reduction : rate;
}

}  // namespace shardsim::nccl

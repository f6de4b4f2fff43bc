#include "models/nccl/traffic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace shardsim::nccl {

using network::DeviceKind;
using network::LinkId;
using network::LinkKind;
using network::VertexId;
using simcore::SimTime;

namespace {

SimTime mean(SimTime total, std::int64_t count) {
  if (count == 0) return SimTime{};
  return SimTime::picoseconds((total.picoseconds() + count / 2) / count);
}

/// Packets that take several ways take their mean time.
SimTime scaled(SimTime time, double share) {
  if (share >= 1) return time;
  return SimTime::picoseconds(std::llround(static_cast<double>(time.picoseconds()) * share));
}

}  // namespace

TrafficBuilder::TrafficBuilder(const network::Graph& graph, const network::LinkOutages* outages)
    : graph_(graph), outages_(outages), weights_(graph.links().size(), 0) {}

const std::vector<network::LinkUse>& TrafficBuilder::ways(VertexId from, VertexId to,
                                                          double share) {
  const std::uint64_t key = std::uint64_t{from} << 32 | to;
  const auto [entry, is_new] = ways_.try_emplace(key);
  if (is_new) {
    entry->second = graph_.ways(from, to, {.outages = outages_, .loads = weights_, .share = share});
  }
  return entry->second;
}

void TrafficBuilder::add_link(LinkId link, double share) {
  if (weights_[link] <= 0) touched_.push_back(link);
  weights_[link] += share;
}

void TrafficBuilder::note_kinds(LinkId id, bool between_nodes) {
  const network::Link& link = graph_.links()[id];
  if (!between_nodes) made_.inside_by_nvlink &= link.kind == LinkKind::nvlink;
  made_.network_by_cpu |= between_nodes && graph_.vertices()[link.to].kind == DeviceKind::cpu;
}

void TrafficBuilder::count_inside_hop(SimTime latency) {
  ++made_.inside.hops;
  inside_total_ += latency;
}

bool TrafficBuilder::add_chain(std::span<const VertexId> devices, bool between_nodes,
                               double share) {
  SimTime latency;
  for (std::size_t i = 0; i + 1 < devices.size(); ++i) {
    if (devices[i] == devices[i + 1]) continue;
    const std::vector<network::LinkUse>& uses = ways(devices[i], devices[i + 1], share);
    if (uses.empty()) return false;
    for (const network::LinkUse& use : uses) {
      add_link(use.link, share * use.weight);
      note_kinds(use.link, between_nodes);
      latency += scaled(graph_.links()[use.link].latency, use.weight);
    }
  }
  if (!between_nodes) {
    count_inside_hop(latency);
  } else {
    ++made_.between.hops;
    between_total_ += latency;
  }
  return true;
}

bool TrafficBuilder::add(const Hop& hop, double share) {
  const VertexId from = graph_.gpu(hop.from_rank);
  const VertexId to = graph_.gpu(hop.to_rank);
  std::vector<VertexId> way{from};
  if (hop.via_rank) way.push_back(graph_.gpu(*hop.via_rank));
  if (hop.out_cpu) way.push_back(*hop.out_cpu);
  if (hop.out_nic) way.insert(way.end(), {*hop.out_nic, *hop.in_nic});
  if (hop.in_cpu) way.push_back(*hop.in_cpu);
  way.push_back(to);
  return add_chain(way, hop.between_nodes, share);
}

Traffic TrafficBuilder::finish() {
  std::ranges::sort(touched_);
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  double rate = touched_.empty() ? 0 : no_limit;
  double nvlink_rate = no_limit;
  for (const LinkId link : touched_) {
    made_.uses.push_back(network::LinkUse{link, weights_[link]});
    const network::Link& one = graph_.links()[link];
    const double allows = one.bandwidth.bytes_per_second / weights_[link];
    rate = std::min(rate, allows);
    if (one.kind == LinkKind::nvlink) nvlink_rate = std::min(nvlink_rate, allows);
  }
  made_.rate = simcore::BitRate{rate};
  made_.nvlink_rate = simcore::BitRate{nvlink_rate < no_limit ? nvlink_rate : 0};
  made_.inside.mean = mean(inside_total_, made_.inside.hops);
  made_.between.mean = mean(between_total_, made_.between.hops);
  return std::move(made_);
}

}  // namespace shardsim::nccl

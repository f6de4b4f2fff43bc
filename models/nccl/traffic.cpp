#include "models/nccl/traffic.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "models/network/routing_spec.hpp"

namespace shardsim::nccl {

using network::DeviceKind;
using network::LinkId;
using network::LinkKind;
using network::VertexId;
using simcore::SimTime;

namespace {

SimTime mean(SimTime total, std::int64_t count) {
  if (count == 0) return SimTime{};
  if (total >= SimTime::latest()) return total;  // beyond the range: nobody knows how far
  return SimTime::picoseconds((total.picoseconds() + count / 2) / count);
}

/// Packets that take several ways take their mean time.
SimTime scaled(SimTime time, double share) {
  if (share >= 1) return time;
  return SimTime::picoseconds(std::llround(static_cast<double>(time.picoseconds()) * share));
}

}  // namespace

TrafficBuilder::TrafficBuilder(const network::Graph& graph, const network::LinkOutages* outages,
                               int queue_pairs)
    : graph_(graph),
      outages_(outages),
      queue_pairs_(queue_pairs),
      routes_(graph),
      weights_(graph.links().size()) {}

TrafficBuilder::KnownPair& TrafficBuilder::place_of(std::uint64_t ends) {
  const std::size_t mask = known_.size() - 1;
  std::size_t i = (ends * 0x9e3779b97f4a7c15U) >> 32 & mask;  // 2^64 / golden ratio
  while (known_[i].ends != ends && known_[i].ends != no_ends) i = (i + 1) & mask;
  return known_[i];
}

void TrafficBuilder::double_known() {
  constexpr std::size_t fewest = 64;
  std::vector<KnownPair> old(std::max(fewest, 2 * known_.size()));
  std::swap(old, known_);
  for (const KnownPair& pair : old) {
    if (pair.ends != no_ends) place_of(pair.ends) = pair;
  }
}

std::span<const network::LinkUse> TrafficBuilder::ways(VertexId from, VertexId to, double share) {
  if (2 * known_count_ >= known_.size()) double_known();
  const std::uint64_t ends = std::uint64_t{from} << 32 | to;
  KnownPair& known = place_of(ends);
  if (known.ends != ends) {
    const bool by_loads = graph_.routing().policy == network::RoutingPolicy::adaptive;
    const auto loads = by_loads ? weights_.all() : std::span<const double>();
    const std::size_t first = pool_.size();
    const double part = 1.0 / queue_pairs_;
    for (int pair = 0; pair < queue_pairs_; ++pair) {
      for (network::LinkUse one : routes_.ways(from, to,
                                               {.flow = static_cast<std::uint64_t>(pair),
                                                .outages = outages_,
                                                .loads = loads,
                                                .share = share * part})) {
        one.weight *= part;
        pool_.push_back(one);
      }
    }
    known = {ends,
             {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(pool_.size() - first)}};
    ++known_count_;
  }
  return std::span(pool_).subspan(known.ways.first, known.ways.size);
}

TrafficBuilder::KnownInside TrafficBuilder::find_inside(VertexId from, VertexId to) {
  KnownInside found{.asked = true, .inside = false, .steps = {}};
  const auto uses = graph_.ways(from, to);
  const int node = graph_.vertices()[from].node;
  const auto first = static_cast<std::uint32_t>(steps_.size());
  for (const network::LinkUse& use : uses) {
    const network::Link& link = graph_.links()[use.link];
    if (link.kind == LinkKind::network || graph_.vertices()[link.to].node != node) return found;
  }
  for (const network::LinkUse& use : uses) {
    const VertexId device = graph_.links()[use.link].from;
    std::uint32_t place = 0;
    while (graph_.link_from(device, place) != use.link) ++place;
    steps_.push_back({static_cast<std::uint32_t>(graph_.slot_of(device)), place});
  }
  found.inside = !uses.empty();
  found.steps = {first, static_cast<std::uint32_t>(uses.size())};
  return found;
}

std::optional<std::span<const TrafficBuilder::Step>> TrafficBuilder::steps_inside(VertexId from,
                                                                                  VertexId to) {
  const int node = graph_.vertices()[from].node;
  if (node != graph_.vertices()[to].node || (outages_ && outages_->any())) return std::nullopt;
  const std::int32_t shape = graph_.shape_of_node(node);
  if (shape < 0) return std::nullopt;
  const auto index = static_cast<std::size_t>(shape);
  if (index >= inside_.size()) inside_.resize(index + 1);
  const std::size_t devices = graph_.devices_of(node).size();
  auto& table = inside_[index];
  if (table.empty()) table.resize(devices * devices);
  KnownInside& known = table[graph_.slot_of(from) * devices + graph_.slot_of(to)];
  if (!known.asked) known = find_inside(from, to);
  if (!known.inside) return std::nullopt;
  return std::span<const Step>(steps_).subspan(known.steps.first, known.steps.size);
}

void TrafficBuilder::add_link(LinkId link, double share) { weights_.add(link, share); }

void TrafficBuilder::use(const network::LinkUse& use, bool between_nodes, double share,
                         SimTime& latency) {
  add_link(use.link, share * use.weight);
  const network::Link& link = graph_.links()[use.link];
  if (!between_nodes) made_.inside_by_nvlink &= link.kind == LinkKind::nvlink;
  made_.network_by_cpu |= between_nodes && graph_.vertices()[link.to].kind == DeviceKind::cpu;
  latency += scaled(link.latency, use.weight);
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
    if (const auto steps = steps_inside(devices[i], devices[i + 1])) {
      const auto first = static_cast<VertexId>(devices[i] - graph_.slot_of(devices[i]));
      for (const Step& step : *steps) {
        use({graph_.link_from(first + step.slot, step.place), 1}, between_nodes, share, latency);
      }
      continue;
    }
    const std::span<const network::LinkUse> uses = ways(devices[i], devices[i + 1], share);
    if (uses.empty()) return false;
    for (const network::LinkUse& one : uses) use(one, between_nodes, share, latency);
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
  std::array<VertexId, 7> way{from};
  std::size_t count = 1;
  if (hop.via_rank) way[count++] = graph_.gpu(*hop.via_rank);
  if (hop.out_cpu) way[count++] = *hop.out_cpu;
  if (hop.out_nic) {
    way[count++] = *hop.out_nic;
    way[count++] = *hop.in_nic;
  }
  if (hop.in_cpu) way[count++] = *hop.in_cpu;
  way[count++] = to;
  return add_chain(std::span(way).first(count), hop.between_nodes, share);
}

Traffic TrafficBuilder::finish() {
  const std::span<const network::LinkUse> uses = weights_.finish();
  made_.uses.assign(uses.begin(), uses.end());
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  double rate = uses.empty() ? 0 : no_limit;
  double nvlink_rate = no_limit;
  for (const network::LinkUse& use : uses) {
    const network::Link& one = graph_.links()[use.link];
    const double allows = one.bandwidth.bytes_per_second / use.weight;
    rate = std::min(rate, allows);
    const bool leaves = graph_.vertices()[one.from].kind == DeviceKind::nic;
    if (leaves && one.kind == LinkKind::network) {
      made_.nic_share = std::max(made_.nic_share, use.weight);
    }
    if (one.kind == LinkKind::nvlink) nvlink_rate = std::min(nvlink_rate, allows);
  }
  made_.rate = simcore::BitRate{rate};
  made_.nvlink_rate = simcore::BitRate{nvlink_rate < no_limit ? nvlink_rate : 0};
  made_.inside.mean = mean(inside_total_, made_.inside.hops);
  made_.between.mean = mean(between_total_, made_.between.hops);
  return std::move(made_);
}

}  // namespace shardsim::nccl

#include "models/network/route_finder.hpp"

#include <algorithm>
#include <utility>

#include "models/network/routing.hpp"

namespace shardsim::network {

namespace {

constexpr std::uint32_t no_middle = 0xffffffffU;
// Beyond so many steps (12 bytes each) all is forgotten and begun anew.
constexpr std::size_t most_steps = std::size_t{1} << 22U;
// Hops between two switches up to which no detour through a node can be as short: it takes a hop
// to a NIC, one to another NIC, and one to another switch.
constexpr std::size_t shorter_than_nodes = 2;
// The same where NICs are not joined directly, and the other switch is not yet the goal.
constexpr std::size_t shorter_than_long_detours = 4;

bool is_fabric_switch(const Vertex& vertex) {
  return vertex.kind == DeviceKind::network_switch && vertex.node < 0;
}

bool contains(const std::vector<VertexId>& vertices, VertexId vertex) {
  return std::ranges::find(vertices, vertex) != vertices.end();
}

}  // namespace

RouteFinder::RouteFinder(const Graph& graph) : graph_(graph), terrain_(graph.terrain()) {}

// --- What hangs where ---

/// Takes the device's links out of its node into account.
void RouteFinder::note_exits(VertexId device, NodeExits& exits) const {
  const std::int32_t node = terrain_.vertices[device].node;
  std::uint32_t home = no_middle;
  const auto note = [&](const Arc& arc) {
    const Vertex& other = terrain_.vertices[arc.other];
    if (other.node == node) {
      exits.nics_joined = exits.nics_joined || other.kind == DeviceKind::nic;
      return;
    }
    const bool one_home = home == no_middle || home == arc.other;
    exits.plain = exits.plain && one_home && is_fabric_switch(other) &&
                  terrain_.links[arc.link].kind == LinkKind::network;
    home = arc.other;
  };
  const bool joined_before = exits.nics_joined;
  for (const Arc& arc : terrain_.adjacency.from(device)) note(arc);
  for (const Arc& arc : terrain_.adjacency.to(device)) note(arc);
  if (terrain_.vertices[device].kind != DeviceKind::nic) {
    exits.nics_joined = joined_before;
    exits.plain = exits.plain && home == no_middle;
    return;
  }
  if (home == no_middle || contains(exits.leaves, home)) return;
  exits.leaves.push_back(home);
}

const RouteFinder::NodeExits& RouteFinder::exits_of(std::int32_t node) {
  const auto index = static_cast<std::size_t>(node);
  if (index >= exits_.size()) exits_.resize(static_cast<std::size_t>(graph_.node_count()));
  NodeExits& exits = exits_[index];
  if (exits.known) return exits;
  exits.known = exits.plain = true;
  for (const VertexId device : graph_.devices_of(node)) {
    // Other GPUs than the two ends carry no transit traffic.
    if (terrain_.vertices[device].kind != DeviceKind::gpu) note_exits(device, exits);
  }
  return exits;
}

RouteFinder::Port RouteFinder::port_out(VertexId nic) const {
  for (const Arc& arc : terrain_.adjacency.from(nic)) {
    if (terrain_.links[arc.link].kind == LinkKind::network) return Port{arc.other, arc.link};
  }
  return Port{nic, 0};
}

RouteFinder::Port RouteFinder::port_in(VertexId nic) const {
  for (const Arc& arc : terrain_.adjacency.to(nic)) {
    if (terrain_.links[arc.link].kind == LinkKind::network) return Port{arc.other, arc.link};
  }
  return Port{nic, 0};
}

bool RouteFinder::applies(VertexId from, VertexId to, const RouteRequest& request) const {
  const Vertex& a = terrain_.vertices[from];
  const Vertex& b = terrain_.vertices[to];
  return a.kind == DeviceKind::nic && b.kind == DeviceKind::nic && a.node >= 0 && b.node >= 0 &&
         a.node != b.node && graph_.routing().policy != RoutingPolicy::table &&
         !(request.outages && request.outages->any());
}

/// Whether no way through the devices of the two nodes is as short as `hops` between the switches.
bool RouteFinder::no_detour(VertexId from, const Port& out, VertexId to, const Port& in,
                            std::size_t hops) {
  const std::int32_t from_node = terrain_.vertices[from].node;
  const std::int32_t to_node = terrain_.vertices[to].node;
  exits_of(std::max(from_node, to_node));  // both exist before references are taken
  const NodeExits& a = exits_of(from_node);
  const NodeExits& b = exits_of(to_node);
  if (!a.plain || !b.plain || out.leaf == from || in.leaf == to) return false;
  if (hops <= shorter_than_nodes) return true;
  if (a.leaves.size() == 1 && b.leaves.size() == 1) return true;
  return hops <= shorter_than_long_detours && !a.nics_joined && !b.nics_joined &&
         !contains(a.leaves, in.leaf) && !contains(b.leaves, out.leaf);
}

// --- Between two switches ---

RouteFinder::Middle RouteFinder::search(VertexId from, VertexId to) const {
  Middle found;
  found.ends = std::uint64_t{from} << 32 | to;
  Ways inner;
  if (from != to) inner = find_ways(terrain_, from, to, {LinkKind::network, false, nullptr});
  found.reached = from == to || inner.levels() > 0;
  Ways& ways = found.ways;
  ways.all.reserve(inner.all.size() + 2);
  ways.all.push_back(RouteStep{0, from, 0});
  ways.all.insert(ways.all.end(), inner.all.begin(), inner.all.end());
  ways.all.push_back(RouteStep{to, 0, 0});
  ways.ends.push_back(1);
  for (const std::size_t end : inner.ends) ways.ends.push_back(end + 1);
  ways.ends.push_back(ways.all.size());
  return found;
}

RouteFinder::Middle& RouteFinder::middle(VertexId from, VertexId to) {
  const std::uint64_t ends = std::uint64_t{from} << 32 | to;
  if (last_ < middles_.size() && middles_[last_].ends == ends) return middles_[last_];
  if (steps_kept_ > most_steps) {
    middles_.clear();
    buckets_.clear();
    steps_kept_ = 0;
  }
  const auto place_of = [this](std::uint64_t wanted) -> std::uint32_t& {
    const std::size_t mask = buckets_.size() - 1;
    std::size_t i = (wanted * 0x9e3779b97f4a7c15U) >> 32 & mask;  // 2^64 / golden ratio
    while (buckets_[i] != no_middle && middles_[buckets_[i]].ends != wanted) i = (i + 1) & mask;
    return buckets_[i];
  };
  if (2 * middles_.size() >= buckets_.size()) {
    constexpr std::size_t fewest = 64;
    buckets_.assign(std::max(fewest, 2 * buckets_.size()), no_middle);
    for (std::uint32_t i = 0; i < middles_.size(); ++i) place_of(middles_[i].ends) = i;
  }
  std::uint32_t& place = place_of(ends);
  if (place == no_middle) {
    place = static_cast<std::uint32_t>(middles_.size());
    middles_.push_back(search(from, to));
    steps_kept_ += middles_.back().ways.all.size();
  }
  last_ = place;
  return middles_[place];
}

// --- The choice ---

std::span<const LinkUse> RouteFinder::choose(Middle& middle, VertexId from, const Port& out,
                                             VertexId to, const Port& in,
                                             const RouteRequest& request) {
  Ways& ways = middle.ways;
  ways.from = from;
  ways.to = to;
  ways.all.front() = RouteStep{from, out.leaf, out.link};
  ways.all.back() = RouteStep{in.leaf, to, in.link};
  way_ = choose_ways(ways, graph_.routing(), request, terrain_.vertices, terrain_.links,
                     graph_.port_of(to));
  return way_;
}

/// Only the links of the two NICs differ from the way that was chosen before for such a port.
std::span<const LinkUse> RouteFinder::by_port(Middle& middle, const Port& out, VertexId to,
                                              const Port& in) {
  const std::size_t port = graph_.port_of(to);
  if (port >= middle.by_port.size()) middle.by_port.resize(port + 1);
  std::vector<LinkUse>& way = middle.by_port[port];
  if (way.empty()) {
    const std::span<const LinkUse> chosen = choose(middle, 0, out, to, in, {});
    way.assign(chosen.begin(), chosen.end());
    steps_kept_ += way.size();
  }
  way.front().link = out.link;
  way.back().link = in.link;
  return way;
}

std::span<const LinkUse> RouteFinder::ways(VertexId from, VertexId to,
                                           const RouteRequest& request) {
  if (applies(from, to, request)) {
    const Port out = port_out(from);
    const Port in = port_in(to);
    if (is_fabric_switch(terrain_.vertices[out.leaf]) &&
        is_fabric_switch(terrain_.vertices[in.leaf])) {
      Middle& found = middle(out.leaf, in.leaf);
      if (found.reached && no_detour(from, out, to, in, found.ways.levels() - 2)) {
        return graph_.routing().policy == RoutingPolicy::target_port
                   ? by_port(found, out, to, in)
                   : choose(found, from, out, to, in, request);
      }
    }
  }
  way_ = graph_.ways(from, to, request);
  return way_;
}

}  // namespace shardsim::network

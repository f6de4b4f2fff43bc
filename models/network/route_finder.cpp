#include "models/network/route_finder.hpp"

#include <algorithm>
#include <utility>

#include "models/network/routing.hpp"

namespace shardsim::network {

namespace {

constexpr VertexId nowhere = 0xffffffffU;
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
  VertexId home = nowhere;
  const auto note = [&](const Arc& arc) {
    const Vertex& other = terrain_.vertices[arc.other];
    if (other.node == node) {
      exits.nics_joined = exits.nics_joined || other.kind == DeviceKind::nic;
      return;
    }
    const bool one_home = home == nowhere || home == arc.other;
    exits.plain = exits.plain && one_home && is_fabric_switch(other) &&
                  terrain_.links[arc.link].kind == LinkKind::network;
    home = arc.other;
  };
  const bool joined_before = exits.nics_joined;
  for (const Arc& arc : terrain_.adjacency.from(device)) note(arc);
  for (const Arc& arc : terrain_.adjacency.to(device)) note(arc);
  if (terrain_.vertices[device].kind != DeviceKind::nic) {
    exits.nics_joined = joined_before;
    exits.plain = exits.plain && home == nowhere;
    return;
  }
  if (home == nowhere || contains(exits.leaves, home)) return;
  exits.leaves.push_back(home);
}

/// Index into exits_.
std::uint32_t RouteFinder::exits_of(std::int32_t node) {
  const std::uint32_t number = nodes_.number_of(static_cast<std::uint64_t>(node));
  if (number < exits_.size()) return number;
  NodeExits& exits = exits_.emplace_back();
  for (const VertexId device : graph_.devices_of(node)) {
    // Other GPUs than the two ends carry no transit traffic.
    if (terrain_.vertices[device].kind != DeviceKind::gpu) note_exits(device, exits);
  }
  return number;
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
  const std::uint32_t from_exits = exits_of(terrain_.vertices[from].node);
  const std::uint32_t to_exits = exits_of(terrain_.vertices[to].node);
  const NodeExits& a = exits_[from_exits];
  const NodeExits& b = exits_[to_exits];
  if (!a.plain || !b.plain || out.leaf == from || in.leaf == to) return false;
  if (hops <= shorter_than_nodes) return true;
  if (a.leaves.size() == 1 && b.leaves.size() == 1) return true;
  return hops <= shorter_than_long_detours && !a.nics_joined && !b.nics_joined &&
         !contains(a.leaves, in.leaf) && !contains(b.leaves, out.leaf);
}

// --- Between two switches ---

RouteFinder::Middle RouteFinder::search(VertexId from, VertexId to) const {
  Middle found;
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
  if (steps_kept_ > most_steps) {
    middles_.clear();
    ends_.clear();
    steps_kept_ = 0;
  }
  const std::uint32_t number = ends_.number_of(std::uint64_t{from} << 32 | to);
  if (number == middles_.size()) {
    middles_.push_back(search(from, to));
    steps_kept_ += middles_.back().ways.all.size();
  }
  return middles_[number];
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

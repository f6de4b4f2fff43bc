#include "models/network/graph.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <map>

#include <fmt/format.h>

#include "models/network/adjacency.hpp"
#include "models/network/device_name.hpp"
#include "models/network/node_shapes.hpp"
#include "models/network/route_search.hpp"
#include "models/network/routing.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::network {

namespace {

constexpr std::array link_kinds{LinkKind::nvlink, LinkKind::pcie, LinkKind::cpu_interconnect,
                                LinkKind::network};

/// A NIC as a GPU sees it.
struct NicDistance {
  LinkKind worst = LinkKind::pcie;
  std::size_t hops = 0;
  VertexId nic = 0;
  bool as_near_as(const NicDistance& other) const {
    return worst == other.worst && hops == other.hops;
  }
};

}  // namespace

struct Graph::State {
  Adjacency adjacency;
  std::vector<Vertex> vertices;
  std::vector<Link> links;
  std::vector<VertexId> gpus;
  std::vector<int> local_indices;                 ///< by rank
  std::vector<std::vector<VertexId>> devices{1};  ///< by node + 1
  std::vector<std::vector<int>> ranks{1};         ///< by node + 1
  std::vector<std::size_t> slots;                 ///< by vertex: place in `devices`
  std::vector<std::size_t> ports;                 ///< by vertex: of a NIC, its port on its switch
  std::vector<std::size_t> used_ports;            ///< by vertex: of a switch

  std::vector<VertexId> down;  ///< NICs that did not come up, in order

  NodeShapes shapes;  ///< empty: not found out
  /// By shape, by GPU of the node: slots of the NICs dealt to it.
  std::vector<std::vector<std::vector<std::size_t>>> rails;
  /// Of large nodes without a shape, with all NICs up: the NICs dealt to each GPU.
  std::map<int, std::vector<std::vector<VertexId>>> dealt;

  RoutingSpec routing;
  std::map<std::pair<VertexId, VertexId>, std::vector<LinkId>> table;  ///< of static routes

  RouteTerrain terrain() const { return {adjacency, vertices, links}; }
  std::size_t slots_of(int node) const {
    return devices[static_cast<std::size_t>(node + 1)].size();
  }
  bool is_down(VertexId nic) const { return std::ranges::binary_search(down, nic); }
  bool any_down_in(int node) const {
    return std::ranges::any_of(down, [&](VertexId nic) { return vertices[nic].node == node; });
  }
  Ways search(VertexId from, VertexId to, const LinkOutages* outages) const;
  std::size_t target_port(const Ways& ways) const;
  std::vector<NicDistance> nic_distances(int rank) const;
  std::vector<VertexId> nearest_nics(int rank) const;
  /// The NICs dealt to each GPU of a node.
  std::vector<std::vector<VertexId>> deal_nics(int node) const;
  void forget_shapes() {
    shapes = {};
    rails.clear();
    dealt.clear();
  }
  /// Whether each vertex can be reached from `start`, along links or against them.
  std::vector<bool> reach(VertexId start, bool along, bool through_gpus) const;
  /// Whether there is a strong component of other devices that every GPU has links to and from.
  bool gpus_share_component() const;
};

Graph::Graph() : state_(std::make_unique<State>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

VertexId Graph::add_vertex(const Vertex& vertex) {
  assert(vertex.node >= -1);
  State& s = *state_;
  const auto id = static_cast<VertexId>(s.vertices.size());
  s.adjacency.add_vertex();
  s.forget_shapes();
  const auto node = static_cast<std::size_t>(vertex.node + 1);
  if (node >= s.devices.size()) {
    s.devices.resize(node + 1);
    s.ranks.resize(node + 1);
  }
  s.slots.push_back(s.devices[node].size());
  s.devices[node].push_back(id);
  s.ports.push_back(0);
  s.used_ports.push_back(0);
  s.vertices.push_back(vertex);
  if (vertex.kind == DeviceKind::gpu) {
    s.local_indices.push_back(static_cast<int>(s.ranks[node].size()));
    s.ranks[node].push_back(static_cast<int>(s.gpus.size()));
    s.gpus.push_back(id);
  }
  return id;
}

LinkId Graph::add_link(const Link& link) {
  State& s = *state_;
  assert(link.from < s.vertices.size() && link.to < s.vertices.size() && link.from != link.to);
  assert(link.kind == LinkKind::nvlink || link.kind == LinkKind::network ||
         s.vertices[link.from].node == s.vertices[link.to].node);
  const auto id = static_cast<LinkId>(s.links.size());
  const bool added = s.adjacency.add_link(link.from, link.to, id);
  assert(added);
  static_cast<void>(added);
  s.forget_shapes();
  s.links.push_back(link);
  if (s.vertices[link.from].kind == DeviceKind::network_switch &&
      s.vertices[link.to].kind == DeviceKind::nic) {
    s.ports[link.to] = s.used_ports[link.from]++;
  }
  return id;
}

std::span<const Vertex> Graph::vertices() const { return state_->vertices; }
std::span<const Link> Graph::links() const { return state_->links; }

std::span<const VertexId> Graph::devices_of(int node) const {
  return state_->devices[static_cast<std::size_t>(node + 1)];
}

std::vector<LinkId> Graph::links_from(VertexId vertex) const {
  std::vector<LinkId> links;
  for (const Arc& arc : state_->adjacency.from(vertex)) links.push_back(arc.link);
  return links;
}

std::optional<LinkId> Graph::find_link(VertexId from, VertexId to) const {
  return state_->adjacency.find(from, to);
}

LinkId Graph::link_from(VertexId vertex, std::size_t place) const {
  return state_->adjacency.from(vertex)[place].link;
}

void Graph::find_node_shapes() {
  State& s = *state_;
  s.forget_shapes();
  if (!s.table.empty()) return;
  s.shapes = network::find_node_shapes(s.terrain(), std::span(s.devices).subspan(1));
  for (const std::size_t node : s.shapes.first_node_of_shape) {
    auto& rails = s.rails.emplace_back();
    for (const auto& nics : s.deal_nics(static_cast<int>(node))) {
      auto& slots = rails.emplace_back();
      for (const VertexId nic : nics) slots.push_back(s.slots[nic]);
    }
  }
  // Dealing looks at all GPUs of the node, for each of them anew unless it is kept.
  constexpr std::size_t many_gpus = 64;
  for (int node = 0; node < node_count(); ++node) {
    const bool kept =
        shape_of_node(node) < 0 && s.ranks[static_cast<std::size_t>(node) + 1].size() > many_gpus;
    if (kept) s.dealt.emplace(node, s.deal_nics(node));
  }
}

std::int32_t Graph::shape_of_node(int node) const {
  const auto& shapes = state_->shapes.of_node;
  return node < 0 || shapes.empty() ? no_shape : shapes[static_cast<std::size_t>(node)];
}

std::size_t Graph::slot_of(VertexId vertex) const { return state_->slots[vertex]; }

void Graph::set_down(VertexId nic) {
  State& s = *state_;
  if (s.is_down(nic)) return;
  s.down.insert(std::ranges::upper_bound(s.down, nic), nic);
}
bool Graph::is_down(VertexId nic) const { return state_->is_down(nic); }
bool Graph::any_down() const { return !state_->down.empty(); }

int Graph::gpu_count() const { return static_cast<int>(state_->gpus.size()); }
VertexId Graph::gpu(int rank) const { return state_->gpus[static_cast<std::size_t>(rank)]; }
int Graph::node_count() const { return static_cast<int>(state_->devices.size()) - 1; }
int Graph::node_of(int rank) const { return state_->vertices[gpu(rank)].node; }
int Graph::local_index(int rank) const {
  return state_->local_indices[static_cast<std::size_t>(rank)];
}

std::string Graph::vertex_name(VertexId vertex) const {
  return device_name(state_->vertices[vertex]);
}

std::string Graph::link_name(LinkId link) const {
  const Link& l = state_->links[link];
  return fmt::format("{}->{}", vertex_name(l.from), vertex_name(l.to));
}

std::optional<VertexId> Graph::find_vertex(std::string_view name) const {
  const auto device = parse_device_name(name);
  if (!device || device->node == every_node || device->node >= node_count()) return std::nullopt;
  for (const VertexId v : devices_of(device->node)) {
    const Vertex& vertex = state_->vertices[v];
    if (vertex.kind == device->kind && vertex.index == device->index &&
        vertex.tier == device->tier) {
      return v;
    }
  }
  return std::nullopt;
}

std::expected<std::vector<LinkId>, std::string> Graph::links_named(std::string_view name) const {
  const auto device = [&](std::string_view text) -> std::expected<VertexId, std::string> {
    const auto parsed = parse_device_name(text);
    if (!parsed) return std::unexpected(parsed.error());
    const std::optional<VertexId> vertex = find_vertex(text);
    if (!vertex) return std::unexpected(fmt::format("there is no device '{}'", text));
    return *vertex;
  };
  const std::size_t arrow = name.find("->");
  if (arrow == std::string_view::npos) {
    const auto vertex = device(name);
    if (!vertex) return std::unexpected(vertex.error());
    std::vector<LinkId> links = links_from(*vertex);
    for (const Arc& arc : state_->adjacency.to(*vertex)) links.push_back(arc.link);
    return links;
  }
  const bool both = arrow > 0 && name[arrow - 1] == '<';
  const auto from = device(name.substr(0, both ? arrow - 1 : arrow));
  if (!from) return std::unexpected(from.error());
  const auto to = device(name.substr(arrow + 2));
  if (!to) return std::unexpected(to.error());
  std::vector<LinkId> links;
  if (const auto link = find_link(*from, *to)) links.push_back(*link);
  if (const auto link = find_link(*to, *from); both && link) links.push_back(*link);
  if (links.empty()) {
    return std::unexpected(
        fmt::format("no link joins '{}' and '{}'", vertex_name(*from), vertex_name(*to)));
  }
  return links;
}

Ways Graph::State::search(VertexId from, VertexId to, const LinkOutages* outages) const {
  if (from == to) return {};
  const int from_node = vertices[from].node;
  const int to_node = vertices[to].node;
  const bool apart = from_node >= 0 && to_node >= 0 && from_node != to_node;
  const bool by_nic =
      vertices[from].kind == DeviceKind::nic || vertices[to].kind == DeviceKind::nic;
  for (const LinkKind worst : link_kinds) {
    if (by_nic && worst == LinkKind::nvlink) continue;
    // PCIe and CPU links stay within a node.
    if (apart && (worst == LinkKind::pcie || worst == LinkKind::cpu_interconnect)) continue;
    Ways ways = find_ways(terrain(), from, to, {worst, false, outages});
    if (ways.levels() > 0) return ways;
  }
  return find_ways(terrain(), from, to, {LinkKind::network, true, outages});
}

/// Port of the NIC by which the ways arrive.
std::size_t Graph::State::target_port(const Ways& ways) const {
  if (vertices[ways.to].kind == DeviceKind::nic) return ports[ways.to];
  for (std::size_t level = ways.levels(); level-- > 0;) {
    for (const RouteStep& step : ways.steps(level)) {
      if (vertices[step.from].kind == DeviceKind::nic) return ports[step.from];
    }
  }
  return 0;
}

std::vector<LinkId> Graph::route(VertexId from, VertexId to) const {
  const State& s = *state_;
  const Ways ways = s.search(from, to, nullptr);
  std::vector<LinkId> route;
  for (const LinkUse& use :
       choose_ways(ways, RoutingSpec{}, {}, s.vertices, s.links, s.target_port(ways))) {
    route.push_back(use.link);
  }
  return route;
}

std::vector<LinkUse> Graph::ways(VertexId from, VertexId to, const RouteRequest& request) const {
  const State& s = *state_;
  if (const auto given = s.table.find({from, to}); given != s.table.end()) {
    std::vector<LinkUse> way;
    bool whole = true;
    for (const LinkId link : given->second) {
      way.push_back({link, 1});
      whole &= !request.outages || !request.outages->down(link);
    }
    if (whole) return way;
  }
  const Ways ways = s.search(from, to, request.outages);
  return choose_ways(ways, s.routing, request, s.vertices, s.links, s.target_port(ways));
}

std::optional<std::size_t> Graph::distance(VertexId from, VertexId to) const {
  if (from == to) return 0;
  const std::size_t hops = state_->search(from, to, nullptr).levels();
  return hops > 0 ? std::optional(hops) : std::nullopt;
}

std::expected<void, RouteError> Graph::set_routing(const RoutingSpec& routing) {
  State& s = *state_;
  s.routing = routing;
  s.table.clear();
  s.forget_shapes();
  for (std::size_t i = 0; i < routing.routes.size(); ++i) {
    const StaticRouteSpec& route = routing.routes[i];
    const auto refuse = [&](std::string message) {
      return std::unexpected(RouteError{i, std::move(message)});
    };
    std::vector<std::string> names{route.from};
    names.insert(names.end(), route.via.begin(), route.via.end());
    names.push_back(route.to);
    std::vector<VertexId> stops;
    std::vector<LinkId> links;
    for (const std::string& name : names) {
      const auto stop = find_vertex(name);
      if (!stop) return refuse(fmt::format("there is no device '{}'", name));
      if (std::ranges::find(stops, *stop) != stops.end()) {
        return refuse(
            fmt::format("the way from '{}' to '{}' passes '{}' twice", route.from, route.to, name));
      }
      if (!stops.empty()) {
        const auto link = find_link(stops.back(), *stop);
        if (!link) {
          return refuse(
              fmt::format("no link leads from '{}' to '{}'", vertex_name(stops.back()), name));
        }
        links.push_back(*link);
      }
      stops.push_back(*stop);
    }
    if (!s.table.emplace(std::pair{stops.front(), stops.back()}, std::move(links)).second) {
      return refuse(fmt::format("there are two ways from '{}' to '{}'", route.from, route.to));
    }
  }
  return {};
}

const RoutingSpec& Graph::routing() const { return state_->routing; }
RouteTerrain Graph::terrain() const { return state_->terrain(); }
std::size_t Graph::port_of(VertexId nic) const { return state_->ports[nic]; }

bool Graph::reachable(VertexId from, VertexId to) const { return distance(from, to).has_value(); }

std::vector<NicDistance> Graph::State::nic_distances(int rank) const {
  const VertexId gpu = gpus[static_cast<std::size_t>(rank)];
  const int node = vertices[gpu].node;
  std::vector<NicDistance> nics;
  std::vector<bool> known(slots_of(node), false);
  for (const LinkKind worst : {LinkKind::pcie, LinkKind::cpu_interconnect}) {
    std::vector<bool> seen(slots_of(node), false);
    std::vector<VertexId> frontier{gpu};
    seen[slots[gpu]] = true;
    for (std::size_t hops = 1; !frontier.empty(); ++hops) {
      std::vector<VertexId> next;
      for (const VertexId u : frontier) {
        for (const auto& [v, link] : adjacency.from(u)) {
          if (vertices[v].node != node || vertices[v].kind == DeviceKind::gpu) continue;
          if (links[link].kind > worst || seen[slots[v]]) continue;
          seen[slots[v]] = true;
          next.push_back(v);
          if (vertices[v].kind != DeviceKind::nic || known[slots[v]] || is_down(v)) continue;
          known[slots[v]] = true;
          nics.push_back({worst, hops, v});
        }
      }
      frontier = std::move(next);
    }
  }
  std::ranges::sort(nics, [&](const NicDistance& a, const NicDistance& b) {
    return std::tuple(a.worst, a.hops, vertices[a.nic].index) <
           std::tuple(b.worst, b.hops, vertices[b.nic].index);
  });
  return nics;
}

std::vector<VertexId> Graph::nics_of(int rank) const {
  std::vector<VertexId> nics;
  for (const NicDistance& nic : state_->nic_distances(rank)) nics.push_back(nic.nic);
  return nics;
}

std::vector<VertexId> Graph::State::nearest_nics(int rank) const {
  std::vector<VertexId> nearest;
  const std::vector<NicDistance> nics = nic_distances(rank);
  for (const NicDistance& nic : nics) {
    if (nic.as_near_as(nics.front())) nearest.push_back(nic.nic);
  }
  return nearest;
}

std::vector<std::vector<VertexId>> Graph::State::deal_nics(int node) const {
  std::vector<std::vector<VertexId>> nearest;
  for (const int rank : ranks[static_cast<std::size_t>(node + 1)]) {
    nearest.push_back(nearest_nics(rank));
  }
  struct Sharers {
    std::size_t count = 0;
    std::size_t served = 0;
  };
  std::map<std::vector<VertexId>, Sharers> sharers_of;
  for (const std::vector<VertexId>& nics : nearest) ++sharers_of[nics].count;
  std::vector<std::vector<VertexId>> shares;
  for (const std::vector<VertexId>& nics : nearest) {
    Sharers& those = sharers_of[nics];
    const std::size_t sharers = those.count;
    const std::size_t place = those.served++;
    std::size_t first = place * nics.size() / sharers;
    std::size_t last = (place + 1) * nics.size() / sharers;
    if (nics.size() < sharers) last = nics.empty() ? first : first + 1;
    shares.emplace_back(nics.begin() + static_cast<std::ptrdiff_t>(first),
                        nics.begin() + static_cast<std::ptrdiff_t>(last));
  }
  return shares;
}

std::vector<VertexId> Graph::rail_nics(int rank) const {
  const State& s = *state_;
  const int node = node_of(rank);
  const auto local = static_cast<std::size_t>(local_index(rank));
  const std::int32_t shape = shape_of_node(node);
  if (shape < 0 || s.any_down_in(node)) {
    const auto kept = s.dealt.find(node);
    if (kept != s.dealt.end() && !s.any_down_in(node)) return kept->second[local];
    return s.deal_nics(node)[local];
  }
  std::vector<VertexId> nics;
  for (const std::size_t slot : s.rails[static_cast<std::size_t>(shape)][local]) {
    nics.push_back(devices_of(node)[slot]);
  }
  return nics;
}

std::vector<bool> Graph::State::reach(VertexId start, bool along, bool through_gpus) const {
  std::vector<bool> reached(vertices.size(), false);
  reached[start] = true;
  std::vector<VertexId> open{start};
  while (!open.empty()) {
    const VertexId at = open.back();
    open.pop_back();
    for (const Arc& arc : along ? adjacency.from(at) : adjacency.to(at)) {
      if (reached[arc.other]) continue;
      if (!through_gpus && vertices[arc.other].kind == DeviceKind::gpu) continue;
      reached[arc.other] = true;
      open.push_back(arc.other);
    }
  }
  return reached;
}

bool Graph::State::gpus_share_component() const {
  for (const Arc& first : adjacency.from(gpus[0])) {
    if (vertices[first.other].kind == DeviceKind::gpu) continue;
    const std::vector<bool> ahead = reach(first.other, true, false);
    const std::vector<bool> behind = reach(first.other, false, false);
    const auto in_component = [&](const Arc& arc) { return ahead[arc.other] && behind[arc.other]; };
    if (std::ranges::all_of(gpus, [&](VertexId gpu) {
          return std::ranges::any_of(adjacency.from(gpu), in_component) &&
                 std::ranges::any_of(adjacency.to(gpu), in_component);
        })) {
      return true;
    }
  }
  return false;
}

std::optional<std::pair<VertexId, VertexId>> Graph::disconnected_pair() const {
  const State& s = *state_;
  if (s.gpus.empty()) return std::nullopt;
  const std::vector<bool> ahead = s.reach(s.gpus[0], true, true);
  const std::vector<bool> behind = s.reach(s.gpus[0], false, true);
  for (VertexId v = 0; v < s.vertices.size(); ++v) {
    if (!ahead[v] || !behind[v]) return {{s.gpus[0], v}};
  }
  if (s.gpus_share_component()) return std::nullopt;
  for (const VertexId a : s.gpus) {
    for (const VertexId b : s.gpus) {
      if (!reachable(a, b)) return {{a, b}};
    }
  }
  return std::nullopt;
}

}  // namespace shardsim::network

#include "models/network/graph.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <functional>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/filtered_graph.hpp>
#include <boost/graph/strong_components.hpp>
#include <boost/property_map/property_map.hpp>
#include <fmt/format.h>

#include "models/network/device_name.hpp"
#include "models/network/route_search.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::network {

namespace {

struct LinkProperty {
  LinkId id = 0;
};

// Sets keep the links of a vertex in order of the other end, which makes every walk deterministic.
using Adjacency = boost::adjacency_list<boost::setS, boost::vecS, boost::bidirectionalS,
                                        boost::no_property, LinkProperty>;

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

  // What RouteSearch asks for.
  template <class Visit>
  void for_each_link_from(VertexId v, Visit visit) const {
    const auto [begin, end] = boost::out_edges(v, adjacency);
    for (auto edge = begin; edge != end; ++edge) {
      visit(static_cast<VertexId>(boost::target(*edge, adjacency)), adjacency[*edge].id);
    }
  }
  template <class Visit>
  void for_each_link_to(VertexId v, Visit visit) const {
    const auto [begin, end] = boost::in_edges(v, adjacency);
    for (auto edge = begin; edge != end; ++edge) {
      visit(static_cast<VertexId>(boost::source(*edge, adjacency)), adjacency[*edge].id);
    }
  }
  std::size_t link_count_from(VertexId v) const { return boost::out_degree(v, adjacency); }
  std::size_t link_count_to(VertexId v) const { return boost::in_degree(v, adjacency); }
  std::size_t vertex_count() const { return vertices.size(); }
  const Vertex& vertex(VertexId v) const { return vertices[v]; }
  const Link& link(LinkId l) const { return links[l]; }
  std::size_t slot(VertexId v) const { return slots[v]; }
  std::size_t slots_of(int node) const {
    return devices[static_cast<std::size_t>(node + 1)].size();
  }
  std::size_t port(VertexId v) const { return ports[v]; }

  std::vector<LinkId> search(VertexId from, VertexId to) const;
  std::vector<NicDistance> nic_distances(int rank) const;
  std::vector<VertexId> nearest_nics(int rank) const;
  /// Number of the strong component of each vertex; without GPUs as transit, or with.
  std::vector<std::size_t> components(bool through_gpus) const;
  /// Whether there is a component of other devices that every GPU has links to and from.
  bool gpus_share_component() const;
};

Graph::Graph() : state_(std::make_unique<State>()) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;

VertexId Graph::add_vertex(const Vertex& vertex) {
  assert(vertex.node >= -1);
  State& s = *state_;
  const auto id = static_cast<VertexId>(boost::add_vertex(s.adjacency));
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
  const bool added = boost::add_edge(link.from, link.to, LinkProperty{id}, s.adjacency).second;
  assert(added);
  static_cast<void>(added);
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
  state_->for_each_link_from(vertex, [&](VertexId, LinkId link) { links.push_back(link); });
  return links;
}

std::optional<LinkId> Graph::find_link(VertexId from, VertexId to) const {
  const auto [edge, found] = boost::edge(from, to, state_->adjacency);
  if (!found) return std::nullopt;
  return state_->adjacency[edge].id;
}

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
    state_->for_each_link_to(*vertex, [&](VertexId, LinkId link) { links.push_back(link); });
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

std::vector<LinkId> Graph::State::search(VertexId from, VertexId to) const {
  if (from == to) return {};
  const int from_node = vertices[from].node;
  const int to_node = vertices[to].node;
  const bool apart = from_node >= 0 && to_node >= 0 && from_node != to_node;
  for (const LinkKind worst : link_kinds) {
    // PCIe and CPU links stay within a node.
    if (apart && (worst == LinkKind::pcie || worst == LinkKind::cpu_interconnect)) continue;
    std::vector<LinkId> route =
        RouteSearch(*this, from, to, {.worst = worst, .everywhere = false}).run();
    if (!route.empty()) return route;
  }
  return RouteSearch(*this, from, to, {.worst = LinkKind::network, .everywhere = true}).run();
}

std::vector<LinkId> Graph::route(VertexId from, VertexId to) const {
  return state_->search(from, to);
}

bool Graph::reachable(VertexId from, VertexId to) const {
  return from == to || !state_->search(from, to).empty();
}

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
        for_each_link_from(u, [&](VertexId v, LinkId link) {
          if (vertices[v].node != node || vertices[v].kind == DeviceKind::gpu) return;
          if (links[link].kind > worst || seen[slots[v]]) return;
          seen[slots[v]] = true;
          next.push_back(v);
          if (vertices[v].kind != DeviceKind::nic || known[slots[v]]) return;
          known[slots[v]] = true;
          nics.push_back({worst, hops, v});
        });
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

std::vector<VertexId> Graph::rail_nics(int rank) const {
  const std::vector<VertexId> nics = state_->nearest_nics(rank);
  std::size_t sharers = 0;
  std::size_t place = 0;
  for (const int other : state_->ranks[static_cast<std::size_t>(node_of(rank) + 1)]) {
    if (other == rank) place = sharers;
    if (state_->nearest_nics(other) == nics) ++sharers;
  }
  if (nics.size() < sharers) {
    if (nics.empty()) return {};
    return {nics[place * nics.size() / sharers]};
  }
  return {nics.begin() + static_cast<std::ptrdiff_t>(place * nics.size() / sharers),
          nics.begin() + static_cast<std::ptrdiff_t>((place + 1) * nics.size() / sharers)};
}

std::vector<std::size_t> Graph::State::components(bool through_gpus) const {
  const std::function<bool(const Adjacency::edge_descriptor&)> counts =
      [&](const Adjacency::edge_descriptor& edge) {
        return through_gpus || (vertices[boost::source(edge, adjacency)].kind != DeviceKind::gpu &&
                                vertices[boost::target(edge, adjacency)].kind != DeviceKind::gpu);
      };
  const boost::filtered_graph filtered(adjacency, counts);
  std::vector<std::size_t> component(vertices.size());
  boost::strong_components(
      filtered, boost::make_iterator_property_map(component.begin(),
                                                  boost::get(boost::vertex_index, adjacency)));
  return component;
}

bool Graph::State::gpus_share_component() const {
  const std::vector<std::size_t> component = components(false);
  const auto joins = [&](VertexId gpu, std::size_t wanted) {
    bool out = false;
    bool in = false;
    for_each_link_from(gpu, [&](VertexId v, LinkId) { out |= component[v] == wanted; });
    for_each_link_to(gpu, [&](VertexId v, LinkId) { in |= component[v] == wanted; });
    return out && in;
  };
  bool shared = false;
  for_each_link_from(gpus[0], [&](VertexId v, LinkId) {
    shared |= std::ranges::all_of(gpus, [&](VertexId gpu) { return joins(gpu, component[v]); });
  });
  return shared;
}

std::optional<std::pair<VertexId, VertexId>> Graph::disconnected_pair() const {
  const State& s = *state_;
  if (s.gpus.empty()) return std::nullopt;
  const std::vector<std::size_t> component = s.components(true);
  for (VertexId v = 0; v < s.vertices.size(); ++v) {
    if (component[v] != component[s.gpus[0]]) return {{s.gpus[0], v}};
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

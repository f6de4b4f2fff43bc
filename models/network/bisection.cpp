#include "models/network/bisection.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>

#include "models/network/adjacency.hpp"
#include "models/network/colour_refinement.hpp"

namespace shardsim::network {

namespace {

using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
// Whole units: the algorithm compares what is left with 0.
using FlowGraph = boost::adjacency_list<
    boost::vecS, boost::vecS, boost::directedS, boost::no_property,
    boost::property<
        boost::edge_capacity_t, long,
        boost::property<boost::edge_residual_capacity_t, long,
                        boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;

void add_cable(FlowGraph& flow, VertexId from, VertexId to, long capacity) {
  const auto there = boost::add_edge(from, to, flow).first;
  const auto back = boost::add_edge(to, from, flow).first;
  boost::put(boost::edge_capacity, flow, there, capacity);
  boost::put(boost::edge_capacity, flow, back, 0L);
  boost::put(boost::edge_reverse, flow, there, back);
  boost::put(boost::edge_reverse, flow, back, there);
}

}  // namespace

simcore::BitRate bisection_bandwidth(const Graph& graph) {
  const int gpus = graph.gpu_count();
  if (gpus < 2) return {};
  enum Side : std::uint32_t { neither, first, second };
  std::vector<std::uint32_t> sides(graph.vertices().size(), neither);
  for (int rank = 0; rank < gpus; ++rank) sides[graph.gpu(rank)] = rank < gpus / 2 ? first : second;
  const Colouring alike = refine_colours(graph, sides);

  std::map<std::pair<std::uint32_t, std::uint32_t>, double> cables;
  double all = 0;
  for (const Link& link : graph.links()) {
    const auto between = std::pair(alike.colour_of[link.from], alike.colour_of[link.to]);
    if (between.first != between.second) cables[between] += link.bandwidth.bytes_per_second;
    all += link.bandwidth.bytes_per_second;
  }
  // MB/s, or more where the cables of all colours together would be beyond the integers.
  const double unit = std::max(1e6, all / 1e13);
  const auto units = [unit](double bytes) { return std::lround(bytes / unit); };
  const auto source = static_cast<VertexId>(alike.colours);
  FlowGraph flow(alike.colours + 2);
  for (const auto& [between, bandwidth] : cables) {
    add_cable(flow, between.first, between.second, units(bandwidth));
  }
  std::vector<bool> joined(alike.colours, false);
  for (std::size_t v = 0; v < sides.size(); ++v) {
    const std::uint32_t colour = alike.colour_of[v];
    if (sides[v] == neither || joined[colour]) continue;
    joined[colour] = true;
    const bool sends = sides[v] == first;
    add_cable(flow, sends ? source : colour, sends ? colour : source + 1, units(all));
  }
  const long most = boost::push_relabel_max_flow(flow, source, source + 1);
  return simcore::BitRate{static_cast<double>(most) * unit};
}

std::optional<std::size_t> network_diameter(const Graph& graph) {
  constexpr std::size_t unseen = ~std::size_t{0};
  const std::span<const Vertex> vertices = graph.vertices();
  Adjacency network;
  std::size_t nics = 0;
  for (const Vertex& vertex : vertices) {
    network.add_vertex();
    nics += vertex.kind == DeviceKind::nic ? 1 : 0;
  }
  if (nics < 2) return std::nullopt;
  const std::span<const Link> links = graph.links();
  for (LinkId link = 0; link < links.size(); ++link) {
    if (links[link].kind == LinkKind::network) {
      network.add_link(links[link].from, links[link].to, link);
    }
  }
  const Colouring alike = refine_colours(graph);
  std::vector<bool> looked(alike.colours, false);
  std::size_t farthest = 0;
  for (VertexId start = 0; start < vertices.size(); ++start) {
    if (vertices[start].kind != DeviceKind::nic || looked[alike.colour_of[start]]) continue;
    looked[alike.colour_of[start]] = true;
    std::vector<std::size_t> distance(vertices.size(), unseen);
    distance[start] = 0;
    std::vector<VertexId> open{start};
    std::size_t reached = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {  // grows on the way
      if (vertices[open[i]].kind == DeviceKind::nic) {
        ++reached;
        farthest = std::max(farthest, distance[open[i]]);
      }
      for (const Arc& arc : network.from(open[i])) {
        if (distance[arc.other] != unseen) continue;
        distance[arc.other] = distance[open[i]] + 1;
        open.push_back(arc.other);
      }
    }
    if (reached < nics) return std::nullopt;
  }
  return farthest;
}

}  // namespace shardsim::network

// Helpers of the graph and topology tests: text to specification to graph, and routes as names.
#pragma once

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "models/network/graph.hpp"
#include "models/network/topology_builder.hpp"
#include "models/network/topology_library.hpp"
#include "models/network/topology_spec.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/config/yaml_reader.hpp"

namespace shardsim::network::testing {

inline std::vector<std::filesystem::path> shipped() {
  return {std::filesystem::path(SHARDSIM_SOURCE_DIR) / "topologies"};
}

inline TopologySpec read_spec(std::string text, simcore::Diagnostics& diagnostics) {
  auto source = std::make_shared<simcore::SourceText>();
  source->name = "test.yaml";
  source->text = std::move(text);
  const auto tree = simcore::read_yaml(std::move(source), diagnostics);
  if (!tree) return {};
  return simcore::read_config<TopologySpec>(*tree, diagnostics);
}

/// The specification of a text that must be right.
inline TopologySpec good_spec(std::string text) {
  simcore::Diagnostics diagnostics;
  TopologySpec spec = read_spec(std::move(text), diagnostics);
  INFO(simcore::to_text(diagnostics));
  REQUIRE(!diagnostics.has_errors());
  return spec;
}

inline Graph build(const TopologySpec& spec, std::int64_t nodes,
                   std::optional<std::int64_t> gpus_per_node = std::nullopt) {
  simcore::Diagnostics diagnostics;
  ClusterSize size;
  size.nodes = nodes;
  size.gpus_per_node = gpus_per_node;
  std::optional<Graph> graph = build_graph(spec, size, diagnostics);
  INFO(simcore::to_text(diagnostics));
  REQUIRE(graph.has_value());
  return std::move(*graph);
}

inline TopologySpec shipped_spec(std::string_view name) {
  simcore::Diagnostics diagnostics;
  const std::optional<Topology> topology = load_topology(name, shipped(), diagnostics);
  INFO(simcore::to_text(diagnostics));
  REQUIRE(topology.has_value());
  return topology->spec;
}

inline VertexId at(const Graph& graph, std::string_view name) {
  const std::optional<VertexId> vertex = graph.find_vertex(name);
  INFO(name);
  REQUIRE(vertex.has_value());
  return *vertex;
}

/// Devices on the way after the first, joined by blanks; "-" for no route.
inline std::string way(const Graph& graph, std::string_view from, std::string_view to) {
  std::string text;
  for (const LinkId link : graph.route(at(graph, from), at(graph, to))) {
    if (!text.empty()) text += ' ';
    text += graph.vertex_name(graph.links()[link].to);
  }
  return text.empty() ? "-" : text;
}

inline double gbytes_per_s(const Graph& graph, std::string_view from, std::string_view to) {
  const std::optional<LinkId> link = graph.find_link(at(graph, from), at(graph, to));
  REQUIRE(link.has_value());
  return graph.links()[*link].bandwidth.bytes_per_second / 1e9;
}

/// Largest flow, in bytes per second, from the NICs of nodes [0, half) to those of the others over
/// network links: augmenting paths, widest first.
inline double bisection(const Graph& graph, int half) {
  const std::size_t n = graph.vertices().size();
  std::vector<std::vector<double>> room(n + 2, std::vector<double>(n + 2, 0));
  const double unlimited = 1e30;
  for (const Link& link : graph.links()) {
    if (link.kind == LinkKind::network) room[link.from][link.to] = link.bandwidth.bytes_per_second;
  }
  for (std::size_t v = 0; v < n; ++v) {
    const Vertex& vertex = graph.vertices()[v];
    if (vertex.kind != DeviceKind::nic) continue;
    (vertex.node < half ? room[n][v] : room[v][n + 1]) = unlimited;
  }
  double total = 0;
  while (true) {
    std::vector<double> width(n + 2, 0);
    std::vector<std::size_t> before(n + 2, n);
    std::vector<bool> done(n + 2, false);
    width[n] = unlimited;
    for (std::size_t round = 0; round < n + 2; ++round) {
      std::size_t u = n + 2;
      for (std::size_t v = 0; v < n + 2; ++v) {
        if (!done[v] && width[v] > 0 && (u == n + 2 || width[v] > width[u])) u = v;
      }
      if (u == n + 2) break;
      done[u] = true;
      for (std::size_t v = 0; v < n + 2; ++v) {
        const double through = std::min(width[u], room[u][v]);
        if (through <= width[v]) continue;
        width[v] = through;
        before[v] = u;
      }
    }
    if (width[n + 1] < 1) return total;
    for (std::size_t v = n + 1; v != n; v = before[v]) {
      room[before[v]][v] -= width[n + 1];
      room[v][before[v]] += width[n + 1];
    }
    total += width[n + 1];
  }
}

}  // namespace shardsim::network::testing

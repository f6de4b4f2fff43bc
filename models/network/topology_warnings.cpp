#include "models/network/topology_warnings.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "models/network/colour_refinement.hpp"
#include "models/network/routing_spec.hpp"

namespace shardsim::network {

namespace {

double gigabytes(simcore::BitRate rate) { return rate.bytes_per_second * 1e-9; }

void check_feeding(const Graph& graph, const Colouring& alike, std::vector<std::string>& found) {
  struct Kind {
    VertexId example = 0;
    int count = 0;
  };
  std::map<std::uint32_t, Kind> nics;
  for (VertexId v = 0; v < graph.vertices().size(); ++v) {
    if (graph.vertices()[v].kind != DeviceKind::nic) continue;
    Kind& kind = nics.try_emplace(alike.colour_of[v], Kind{v, 0}).first->second;
    ++kind.count;
  }
  for (const auto& [colour, kind] : nics) {
    double pcie = 0;
    double network = 0;
    for (const LinkId l : graph.links_from(kind.example)) {
      const Link& link = graph.links()[l];
      (link.kind == LinkKind::network ? network : pcie) += gigabytes(link.bandwidth);
    }
    if (pcie >= network * 0.99 || network <= 0) continue;
    found.push_back(fmt::format("{} (and {} alike) sends {:.1f} GB/s, but PCIe feeds it {:.1f}",
                                graph.vertex_name(kind.example), kind.count - 1, network, pcie));
  }
}

void check_sharing(const Graph& graph, std::vector<std::string>& found) {
  // Nodes are looked at until one of each number of NICs has been.
  std::map<std::size_t, int> seen;
  for (int node = 0; node < graph.node_count(); ++node) {
    std::size_t nics = 0;
    std::size_t gpus = 0;
    for (const VertexId v : graph.devices_of(node)) {
      nics += graph.vertices()[v].kind == DeviceKind::nic ? 1 : 0;
      gpus += graph.vertices()[v].kind == DeviceKind::gpu ? 1 : 0;
    }
    if (!seen.try_emplace(nics, node).second || nics == 0 || gpus == 0) continue;
    if (std::max(nics, gpus) % std::min(nics, gpus) == 0) continue;
    found.push_back(fmt::format("node[{}]: {} GPUs share {} NICs unevenly", node, gpus, nics));
  }
  if (seen.size() > 1 && seen.contains(0)) {
    found.push_back(fmt::format("node[{}] has no NIC, others have", seen.at(0)));
  }
}

/// The rate of the slowest NIC's port; nothing without NICs on a network.
std::optional<double> least_nic_rate(const Graph& graph) {
  std::optional<double> least;
  for (const Link& link : graph.links()) {
    if (link.kind != LinkKind::network) continue;
    if (graph.vertices()[link.from].kind != DeviceKind::nic) continue;
    const double rate = link.bandwidth.bytes_per_second;
    least = least ? std::min(*least, rate) : rate;
  }
  return least;
}

/// Whether a link between switches leads up, or from pod to pod.
bool leads_away(const Vertex& from, const Vertex& to) {
  return to.tier > from.tier || (to.tier == from.tier && from.tier > 0);
}

}  // namespace

std::vector<std::string> uplink_warnings(const Graph& graph) {
  const std::optional<double> nic = least_nic_rate(graph);
  if (!nic || graph.routing().policy == RoutingPolicy::spray) return {};
  struct Slowest {
    std::optional<VertexId> device;
    double rate = 0;
  };
  std::array<Slowest, 3> of_tier;
  const auto vertices = graph.vertices();
  for (const VertexId v : graph.devices_of(-1)) {
    if (vertices[v].kind != DeviceKind::network_switch) continue;
    std::size_t ups = 0;
    double least = *nic;
    for (const LinkId l : graph.links_from(v)) {
      const Link& link = graph.links()[l];
      if (vertices[link.to].kind != DeviceKind::network_switch) continue;
      if (!leads_away(vertices[v], vertices[link.to])) continue;
      ++ups;
      least = std::min(least, link.bandwidth.bytes_per_second);
    }
    // One link stands for several with ideal spreading.
    if (ups < 2 || least > *nic * 0.99) continue;
    Slowest& known = of_tier[static_cast<std::size_t>(vertices[v].tier)];
    if (!known.device || least < known.rate) known = {v, least};
  }
  std::vector<std::string> found;
  for (const Slowest& one : of_tier) {
    if (!one.device) continue;
    found.push_back(
        fmt::format("{} has links up of {:.3g} GB/s each, and a NIC sends {:.3g}: a flow, which "
                    "takes one of them, cannot be faster (fewer spines or cores, less "
                    "oversubscription, or routing by spray)",
                    graph.vertex_name(*one.device), one.rate * 1e-9, *nic * 1e-9));
  }
  return found;
}

std::vector<std::string> topology_warnings(const Graph& graph) {
  std::vector<std::string> found;
  check_feeding(graph, refine_colours(graph), found);
  check_sharing(graph, found);
  const std::vector<std::string> uplinks = uplink_warnings(graph);
  found.insert(found.end(), uplinks.begin(), uplinks.end());
  return found;
}

}  // namespace shardsim::network

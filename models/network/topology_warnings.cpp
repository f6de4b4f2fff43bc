#include "models/network/topology_warnings.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/network/colour_refinement.hpp"

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

}  // namespace

std::vector<std::string> topology_warnings(const Graph& graph) {
  std::vector<std::string> found;
  check_feeding(graph, refine_colours(graph), found);
  check_sharing(graph, found);
  return found;
}

}  // namespace shardsim::network

#include "report/topology_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

namespace shardsim::report {

namespace {

using Json = nlohmann::ordered_json;
using network::DeviceKind;
using network::LinkId;
using network::VertexId;
using scenario::LinkLoad;

constexpr std::array device_names{"gpu", "nvswitch", "pcie_switch", "cpu", "nic", "network_switch"};
constexpr std::array link_names{"nvlink", "pcie", "cpu_interconnect", "network"};

/// Six digits suffice for a picture.
double rounded(double value) {
  if (value == 0) return 0;
  const double scale = std::pow(10, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

class Picture {
 public:
  Picture(const network::Graph& graph, const std::vector<LinkLoad>& loads,
          const PictureLimits& limits)
      : graph_(graph), loads_(loads), limits_(limits) {}

  Json draw() {
    choose_nodes();
    choose_switches();
    Json data;
    data["devices"] = devices();
    data["cables"] = cables();
    data["nodes"] = graph_.node_count();
    data["nodes_shown"] = nodes_.size();
    data["switches"] = graph_.devices_of(-1).size();
    data["switches_shown"] = switches_shown_;
    return data;
  }

 private:
  double load(LinkId link) const { return link < loads_.size() ? loads_[link].mean_share : 0; }

  /// Of each vertex, the load of its busiest link.
  std::vector<double> busiest() const {
    std::vector<double> most(graph_.vertices().size(), 0);
    for (LinkId link = 0; link < graph_.links().size(); ++link) {
      const network::Link& one = graph_.links()[link];
      most[one.from] = std::max(most[one.from], load(link));
      most[one.to] = std::max(most[one.to], load(link));
    }
    return most;
  }

  void choose_nodes() {
    const int per_node = std::max(1, graph_.gpu_count() / std::max(1, graph_.node_count()));
    const auto most =
        static_cast<std::size_t>(std::clamp(limits_.gpus / per_node, 2, limits_.nodes));
    const std::vector<double> busy = busiest();
    double highest = -1;
    int node_of_highest = 0;
    for (VertexId vertex = 0; vertex < busy.size(); ++vertex) {
      const int node = graph_.vertices()[vertex].node;
      if (node < 0 || busy[vertex] <= highest * (1 + 1e-9)) continue;
      highest = busy[vertex];
      node_of_highest = node;
    }
    nodes_.insert(node_of_highest);
    for (int node = 0; node < graph_.node_count() && nodes_.size() < most; ++node) {
      nodes_.insert(node);
    }
    for (VertexId vertex = 0; vertex < graph_.vertices().size(); ++vertex) {
      if (nodes_.contains(graph_.vertices()[vertex].node)) shown_.insert(vertex);
    }
  }

  /// Switches next to a shown node first, then busy ones.
  void choose_switches() {
    const std::vector<double> busy = busiest();
    std::set<VertexId> near;
    for (const network::Link& link : graph_.links()) {
      if (shown_.contains(link.from)) near.insert(link.to);
    }
    std::map<std::pair<DeviceKind, int>, std::vector<VertexId>> tiers;
    for (const VertexId vertex : graph_.devices_of(-1)) {
      const network::Vertex& device = graph_.vertices()[vertex];
      tiers[{device.kind, device.tier}].push_back(vertex);
    }
    for (auto& [tier, switches] : tiers) {
      std::ranges::stable_sort(switches, [&](VertexId a, VertexId b) {
        if (near.contains(a) != near.contains(b)) return near.contains(a);
        return busy[a] > busy[b];
      });
      const std::size_t kept =
          std::min(switches.size(), static_cast<std::size_t>(limits_.switches_per_tier));
      for (std::size_t i = 0; i < kept; ++i) shown_.insert(switches[i]);
      switches_shown_ += kept;
    }
  }

  Json devices() {
    Json list = Json::array();
    for (const VertexId vertex : shown_) {
      const network::Vertex& device = graph_.vertices()[vertex];
      place_[vertex] = list.size();
      list.push_back({{"name", graph_.vertex_name(vertex)},
                      {"kind", device_names[static_cast<std::size_t>(device.kind)]},
                      {"node", device.node},
                      {"tier", device.tier},
                      {"index", device.index}});
    }
    return list;
  }

  Json direction(LinkId link) const {
    const LinkLoad carried = link < loads_.size() ? loads_[link] : LinkLoad{};
    return {{"bytes", std::llround(carried.bytes)},
            {"busy", rounded(carried.busy_fraction)},
            {"mean", rounded(carried.mean_share)},
            {"peak", rounded(carried.peak_share)}};
  }

  Json cables() const {
    Json list = Json::array();
    for (LinkId link = 0; link < graph_.links().size(); ++link) {
      const network::Link& one = graph_.links()[link];
      if (!place_.contains(one.from) || !place_.contains(one.to)) continue;
      const auto back = graph_.find_link(one.to, one.from);
      if (back && *back < link) continue;  // its other direction has told of it
      list.push_back({{"from", place_.at(one.from)},
                      {"to", place_.at(one.to)},
                      {"kind", link_names[static_cast<std::size_t>(one.kind)]},
                      {"gbytes_per_s", rounded(one.bandwidth.bytes_per_second * 1e-9)},
                      {"there", direction(link)},
                      {"back", back ? direction(*back) : Json(nullptr)}});
    }
    return list;
  }

  const network::Graph& graph_;
  const std::vector<LinkLoad>& loads_;
  const PictureLimits limits_;
  std::set<int> nodes_;
  std::set<VertexId> shown_;
  std::map<VertexId, std::size_t> place_;
  std::size_t switches_shown_ = 0;
};

}  // namespace

nlohmann::ordered_json topology_picture(const network::Graph& graph,
                                        const std::vector<scenario::LinkLoad>& loads,
                                        const PictureLimits& limits) {
  return Picture(graph, loads, limits).draw();
}

}  // namespace shardsim::report

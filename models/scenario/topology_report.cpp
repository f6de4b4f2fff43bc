#include "models/scenario/topology_report.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "models/nccl/connect.hpp"
#include "models/network/bisection.hpp"
#include "models/network/topology_warnings.hpp"

namespace shardsim::scenario {

using Json = nlohmann::ordered_json;
using network::Graph;
using network::LinkKind;

namespace {

constexpr std::array device_names{"gpu", "nvswitch", "pcie_switch", "cpu", "nic", "network_switch"};
constexpr std::array link_names{"nvlink", "pcie", "cpu_interconnect", "network"};

/// Links of one kind and bandwidth.
struct LinkGroup {
  std::size_t count = 0;
  double latency_us = 0;
};
using LinkKey = std::pair<LinkKind, double>;

std::map<LinkKey, LinkGroup> links_by_kind(const Graph& graph) {
  std::map<LinkKey, LinkGroup> groups;
  for (const network::Link& link : graph.links()) {
    LinkGroup& group = groups[{link.kind, link.bandwidth.bytes_per_second * 1e-9}];
    ++group.count;
    group.latency_us = std::max(group.latency_us, link.latency.microseconds());
  }
  return groups;
}

std::array<std::size_t, device_names.size()> devices_by_kind(const Graph& graph) {
  std::array<std::size_t, device_names.size()> counts{};
  for (const network::Vertex& vertex : graph.vertices()) {
    ++counts[static_cast<std::size_t>(vertex.kind)];
  }
  return counts;
}

/// The plan for all GPUs of the cluster, or why there is none.
std::expected<const nccl::PlannedCommunicator*, std::string> plan_of(
    const CollectiveCluster& cluster) {
  const auto shape =
      nccl::shape_of_cluster(cluster.spec, cluster.nodes(), cluster.ranks() / cluster.nodes());
  if (!shape) return std::unexpected("the nodes are of unequal size");
  return cluster.planner->plan(*shape);
}

struct NamedGraph {
  std::string_view name;
  const nccl::ChannelGraph* graph = nullptr;
};

std::vector<NamedGraph> graphs_of(const nccl::PlannedCommunicator& plan) {
  std::vector<NamedGraph> graphs{
      {"ring", &plan.graphs.ring}, {"tree", &plan.graphs.tree}, {"nvls", &plan.graphs.nvls}};
  if (plan.graphs.collnet_chain) graphs.push_back({"collnetChain", &*plan.graphs.collnet_chain});
  if (plan.graphs.collnet_direct) graphs.push_back({"collnetDirect", &*plan.graphs.collnet_direct});
  return graphs;
}

double rounded(double value) { return std::stod(fmt::format("{:.6g}", value)); }

Json graphs_json(const CollectiveCluster& cluster, const nccl::PlannedCommunicator& plan) {
  Json rows = Json::array();
  for (const NamedGraph& one : graphs_of(plan)) {
    const nccl::GraphSummary graph = nccl::summary_of(*one.graph);
    rows.push_back({{"nccl_version", nccl::to_text(cluster.setup.version)},
                    {"topology", cluster.name},
                    {"nNodes", plan.shape.nodes},
                    {"graph", one.name},
                    {"pattern", graph.pattern},
                    {"crossNic", graph.cross_nic},
                    {"nChannels", graph.channels},
                    {"bwIntra", rounded(graph.bw_intra_gbps)},
                    {"bwInter", rounded(graph.bw_inter_gbps)},
                    {"latInter", rounded(graph.latency_inter_us)},
                    {"typeIntra", nccl::path_type_name(graph.type_intra)},
                    {"typeInter", nccl::path_type_name(graph.type_inter)},
                    {"sameChannels", graph.same_channels ? 1 : 0},
                    {"ppn", plan.shape.ranks_per_node()},
                    {"maxBw", rounded(plan.land->max_gbytes_per_second)},
                    {"totalBw", rounded(plan.land->total_gbytes_per_second)},
                    {"collChannels", plan.selector->schedule_inputs().channels.collective}});
  }
  return rows;
}

Json tuning_json(const CollectiveCluster& cluster, const nccl::PlannedCommunicator& plan) {
  Json rows = Json::array();
  const nccl::TuningTable& table = plan.selector->table();
  for (const nccl::Collective collective : nccl::all_collectives) {
    for (const nccl::Algorithm algorithm : nccl::all_algorithms) {
      for (const nccl::Protocol protocol : nccl::all_protocols) {
        const nccl::TuningCell& cell = table.cells[collective][algorithm][protocol];
        if (cell.bandwidth_gbps <= 0) continue;
        rows.push_back({{"nccl_version", nccl::to_text(cluster.setup.version)},
                        {"topology", cluster.name},
                        {"nNodes", plan.shape.nodes},
                        {"coll", nccl::name(collective)},
                        {"algo", nccl::name(algorithm)},
                        {"proto", nccl::name(protocol)},
                        {"latency_us", cell.latency_us},
                        {"algbw_GBps", cell.bandwidth_gbps},
                        {"maxThreads", table.most_threads[algorithm][protocol]}});
      }
    }
  }
  return rows;
}

Json choices_json(const CollectiveCluster& cluster, const nccl::PlannedCommunicator& plan) {
  Json rows = Json::array();
  if (plan.shape.ranks() < 2) return rows;
  // What the tuning model says, without what kernels cannot do: as NCCL's own tables are printed.
  const nccl::Selector selector(plan.selector->inputs(), cluster.setup.environment,
                                nccl::KernelLimits::ignored);
  constexpr int smallest = 3;  // 8 bytes
  constexpr int largest = 33;  // 8 GiB
  for (const nccl::Collective collective : nccl::all_collectives) {
    for (int power = smallest; power <= largest; ++power) {
      const simcore::Bytes bytes{std::int64_t{1} << power};
      const auto choice = selector.choose({collective, bytes, gpu::DataType::fp32});
      if (!choice) continue;
      rows.push_back({{"nccl_version", nccl::to_text(cluster.setup.version)},
                      {"topology", cluster.name},
                      {"nNodes", plan.shape.nodes},
                      {"coll", nccl::name(collective)},
                      {"bytes", bytes.count},
                      {"algo", nccl::name(choice->algorithm)},
                      {"proto", nccl::name(choice->protocol)},
                      {"predicted_us", choice->predicted_us}});
    }
  }
  return rows;
}

nccl::NodeRanks node_ranks(const nccl::PlannedCommunicator& plan) {
  return nccl::consecutive_ranks(plan.shape.nodes, plan.shape.ranks_per_node());
}

Json rings_json(const CollectiveCluster& cluster, const nccl::PlannedCommunicator& plan) {
  return nccl::connect_rings(plan.graphs.ring, node_ranks(plan),
                             plan.selector->schedule_inputs().channels.collective,
                             cluster.setup.version);
}

Json trees_json(const nccl::PlannedCommunicator& plan) {
  Json trees = Json::array();
  for (const auto& channel :
       nccl::connect_trees(plan.graphs.tree, node_ranks(plan),
                           plan.selector->schedule_inputs().channels.collective)) {
    Json ranks = Json::array();
    for (const nccl::TreeLinks& links : channel)
      ranks.push_back({{"up", links.up}, {"down", links.down}});
    trees.push_back(std::move(ranks));
  }
  return trees;
}

Json nccl_json(const CollectiveCluster& cluster) {
  const auto plan = plan_of(cluster);
  if (!plan) return {{"why_not", plan.error()}};
  const nccl::PlannedCommunicator& planned = **plan;
  Json made{{"version", nccl::to_text(cluster.setup.version)},
            {"graphs", graphs_json(cluster, planned)},
            {"tuning", tuning_json(cluster, planned)},
            {"choices", choices_json(cluster, planned)},
            {"rings", Json::array()},
            {"trees", Json::array()}};
  if (planned.shape.ranks() < 2) return made;
  made["rings"] = rings_json(cluster, planned);
  made["trees"] = trees_json(planned);
  return made;
}

/// NCCL's NCCL_TOPO_PATTERN_* (graph.h), in words.
const char* pattern_name(int pattern) {
  constexpr std::array names{"balanced tree", "split tree",   "tree",
                             "ring",          "NVLink SHARP", "CollNet direct"};
  const bool known = pattern >= 1 && pattern <= static_cast<int>(names.size());
  return known ? names[static_cast<std::size_t>(pattern - 1)] : "unknown";
}

/// As ChannelGraph::cross_nic has it.
const char* cross_nic_name(int cross_nic) {
  if (cross_nic == 0) return "out by the NIC that it came in by";
  return cross_nic == 1 ? "in and out by NICs that may differ"
                        : "pairs of channels swap their NICs";
}

std::string graph_text(std::string_view name, const nccl::GraphSummary& graph, bool several) {
  std::string text = fmt::format("  {:<14} {} ({}), {} channel{} of {:g} GB/s, over {}\n", name,
                                 pattern_name(graph.pattern), graph.pattern, graph.channels,
                                 graph.channels == 1 ? "" : "s", rounded(graph.bw_intra_gbps),
                                 nccl::path_type_name(graph.type_intra));
  if (!several) return text;
  text += fmt::format("  {:<14} between nodes {:g} GB/s, over {}, {} (crossNic {})\n", "",
                      rounded(graph.bw_inter_gbps), nccl::path_type_name(graph.type_inter),
                      cross_nic_name(graph.cross_nic), graph.cross_nic);
  return text;
}

std::string nccl_text(const CollectiveCluster& cluster) {
  const auto plan = plan_of(cluster);
  std::string text = fmt::format("\nNCCL {}\n", nccl::to_text(cluster.setup.version));
  if (!plan) return text + fmt::format("  no plan: {}\n", plan.error());
  for (const NamedGraph& one : graphs_of(**plan)) {
    const nccl::GraphSummary graph = nccl::summary_of(*one.graph);
    if (graph.channels == 0) continue;
    text += graph_text(one.name, graph, cluster.nodes() > 1);
  }
  const nccl::ChannelCounts& channels = (*plan)->selector->schedule_inputs().channels;
  text += fmt::format("  {} channels for collectives, {} for NVLS\n", channels.collective,
                      channels.nvls);
  text +=
      "  over: the longest kind of way, from NVL (NVLink) over PIX, PXB (PCIe switches), PXN (a\n"
      "  neighbour's NIC) and PHB (the CPU) to SYS (another CPU)\n";
  return text;
}

}  // namespace

std::string topology_json(const CollectiveCluster& cluster) {
  const Graph& graph = cluster.graph;
  Json devices = Json::object();
  const auto counts = devices_by_kind(graph);
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    devices[device_names[kind]] = counts[kind];
  }
  Json kinds = Json::array();
  for (const auto& [key, group] : links_by_kind(graph)) {
    kinds.push_back({{"kind", link_names[static_cast<std::size_t>(key.first)]},
                     {"bandwidth_gbytes_per_s", rounded(key.second)},
                     {"latency_us", rounded(group.latency_us)},
                     {"count", group.count}});
  }
  Json vertices = Json::array();
  for (std::size_t v = 0; v < graph.vertices().size(); ++v) {
    const network::Vertex& vertex = graph.vertices()[v];
    vertices.push_back({{"name", graph.vertex_name(static_cast<network::VertexId>(v))},
                        {"kind", device_names[static_cast<std::size_t>(vertex.kind)]}});
  }
  Json links = Json::array();
  for (const network::Link& link : graph.links()) {
    links.push_back({{"from", graph.vertex_name(link.from)},
                     {"to", graph.vertex_name(link.to)},
                     {"kind", link_names[static_cast<std::size_t>(link.kind)]},
                     {"bandwidth_gbytes_per_s", rounded(link.bandwidth.bytes_per_second * 1e-9)},
                     {"latency_us", rounded(link.latency.microseconds())}});
  }
  const double bisection = network::bisection_bandwidth(graph).bytes_per_second * 1e-9;
  const auto diameter = network::network_diameter(graph);
  return Json{{"schema", "shardsim.topology/1"},
              {"topology", cluster.name},
              {"nodes", cluster.nodes()},
              {"gpus", cluster.ranks()},
              {"devices", std::move(devices)},
              {"bisection_gbytes_per_s", rounded(bisection)},
              {"diameter_links", diameter ? Json(*diameter) : Json(nullptr)},
              {"warnings", network::topology_warnings(graph)},
              {"links_by_kind", std::move(kinds)},
              {"vertices", std::move(vertices)},
              {"links", std::move(links)},
              {"nccl", nccl_json(cluster)}}
             .dump(1) +
         "\n";
}

std::string topology_text(const CollectiveCluster& cluster) {
  std::string text = fmt::format("{}: {} node{}, {} GPU{}\n", cluster.name, cluster.nodes(),
                                 cluster.nodes() == 1 ? "" : "s", cluster.ranks(),
                                 cluster.ranks() == 1 ? "" : "s");
  const auto counts = devices_by_kind(cluster.graph);
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] > 0) text += fmt::format("  {:<18}{:>8}\n", device_names[kind], counts[kind]);
  }
  text += fmt::format("  bisection         {:>8.0f} GB/s, one direction\n",
                      network::bisection_bandwidth(cluster.graph).bytes_per_second * 1e-9);
  if (const auto diameter = network::network_diameter(cluster.graph)) {
    text += fmt::format("  diameter          {:>8} links between NICs\n", *diameter);
  }
  text += "  checks            connected\n";
  for (const std::string& warning : network::topology_warnings(cluster.graph)) {
    text += fmt::format("  warning           {}\n", warning);
  }
  text += "\nlinks               count      GB/s        us\n";
  for (const auto& [key, group] : links_by_kind(cluster.graph)) {
    text += fmt::format("  {:<16}{:>7}  {:>8.1f}  {:>8.2f}\n",
                        link_names[static_cast<std::size_t>(key.first)], group.count, key.second,
                        group.latency_us);
  }
  return text + nccl_text(cluster);
}

void write_dot(std::ostream& out, const Graph& graph) {
  out << "graph cluster {\n  node [shape=box, fontsize=10];\n";
  for (std::size_t v = 0; v < graph.vertices().size(); ++v) {
    out << fmt::format("  v{} [label=\"{}\"];\n", v,
                       graph.vertex_name(static_cast<network::VertexId>(v)));
  }
  for (const network::Link& link : graph.links()) {
    // The other direction has drawn it already, unless the cable has only one.
    const bool both = graph.find_link(link.to, link.from).has_value();
    if (both && link.from > link.to) continue;
    out << fmt::format("  v{} -- v{} [label=\"{:.0f} GB/s\"{}];\n", link.from, link.to,
                       link.bandwidth.bytes_per_second * 1e-9, both ? "" : ", dir=forward");
  }
  out << "}\n";
}

}  // namespace shardsim::scenario

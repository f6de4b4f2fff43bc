#include "models/nccl/graph_xml.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "models/nccl/nic_choice.hpp"
#include "models/nccl/xml_fields.hpp"

namespace shardsim::nccl {
namespace {

/// NCCL's numbers of graphs in a file.
enum GraphNumber { ring_graph, tree_graph, collnet_chain_graph, nvls_graph, collnet_direct_graph };
constexpr std::int64_t max_channels = 64;

/// A device's name in the file: the host in the highest byte, its number below.
std::uint64_t device_id(int host, int device) {
  return (static_cast<std::uint64_t>(host) << 56) | static_cast<std::uint64_t>(device);
}

int host_of(const System& system, int node) {
  return system.nodes[static_cast<std::size_t>(node)].host;
}

class GraphReader {
 public:
  GraphReader(const System& system, const PlanningOptions& options,
              simcore::Diagnostics& diagnostics)
      : system_(system), options_(options), diagnostics_(diagnostics) {}

  GivenGraphs read(const XmlElement& root) {
    GivenGraphs given;
    for (const XmlElement& element : root.children) {
      if (element.name != "graph") {
        pass_over(element, root);
        continue;
      }
      const auto id = XmlFields(element, diagnostics_).required_integer("id", 0, 4);
      ChannelGraph graph = read_graph(element, id == nvls_graph);
      if (graph.channels.empty()) continue;
      if (options_.cross_nic == 0 && graph.cross_nic == 1) continue;
      slot(given, id) = std::move(graph);
    }
    return given;
  }

 private:
  static std::optional<ChannelGraph>& slot(GivenGraphs& given, std::int64_t id) {
    switch (id) {
      case ring_graph:
        return given.ring;
      case tree_graph:
        return given.tree;
      case collnet_chain_graph:
        return given.collnet_chain;
      case nvls_graph:
        return given.nvls;
      default:
        return given.collnet_direct;
    }
  }

  ChannelGraph read_graph(const XmlElement& element, bool heads_only) {
    const XmlFields fields(element, diagnostics_);
    ChannelGraph graph;
    graph.pattern = static_cast<ChannelPattern>(fields.required_integer("pattern", 1, 6));
    graph.cross_nic = static_cast<int>(fields.required_integer("crossnic", 0, 2));
    graph.intra_gbytes_per_second = rate(fields, "speedintra");
    graph.inter_gbytes_per_second = rate(fields, "speedinter");
    graph.latency_us = static_cast<float>(fields.number("latencyinter", 0, 0, 1e6));
    graph.type_intra = type(element, "typeintra");
    graph.type_inter = type(element, "typeinter");
    graph.same_channels = fields.required_integer("samechannels", 0, 1) != 0;
    const auto count = fields.required_integer("nchannels", 0, max_channels);
    for (const XmlElement& child : element.children) {
      if (child.name == "channel") {
        graph.channels.push_back(read_channel(child, heads_only));
      } else {
        pass_over(child, element);
      }
    }
    check_rates(element, graph);
    if (graph.channel_count() != count) {
      diagnostics_.error(element.where, fmt::format("nchannels is {}, but {} <channel> follow",
                                                    count, graph.channel_count()));
    }
    return graph;
  }

  /// A graph without channels is one that was not found, and has no rate.
  void check_rates(const XmlElement& element, const ChannelGraph& graph) {
    if (graph.channels.empty()) return;
    const auto check = [&](const char* name, float gbytes_per_second) {
      if (gbytes_per_second > 0) return;
      diagnostics_.error(element.where, fmt::format("attribute '{}' of <graph> is 0: expected more "
                                                    "where there are channels",
                                                    name));
    };
    check("speedintra", graph.intra_gbytes_per_second);
    if (options_.several_nodes) check("speedinter", graph.inter_gbytes_per_second);
  }

  static float rate(const XmlFields& fields, std::string_view name) {
    fields.required_text(name);
    return static_cast<float>(fields.number(name, 0, 0, 100'000));
  }

  PathType type(const XmlElement& element, std::string_view name) {
    const std::string text = XmlFields(element, diagnostics_).required_text(name);
    if (const auto known = path_type_named(text)) return *known;
    if (element.attribute(name) != nullptr) {
      diagnostics_.error(element.where,
                         fmt::format("attribute '{}' of <graph> is {}: expected a path type such "
                                     "as NVL, PIX, PXB, PXN, PHB or SYS",
                                     name, simcore::quote(text)));
    }
    return PathType::sys;
  }

  GraphChannel read_channel(const XmlElement& element, bool heads_only) {
    GraphChannel channel;
    std::vector<int> nets;
    for (const XmlElement& child : element.children) {
      if (child.name == "net") {
        nets.push_back(net_named(child));
      } else if (child.name == "gpu") {
        channel.ranks.push_back(rank_named(child));
      } else {
        pass_over(child, element);
      }
    }
    check_ranks(element, channel.ranks, heads_only);
    if (heads_only && channel.ranks.size() > 1) {
      channel.ranks.erase(channel.ranks.begin() + 1, channel.ranks.end());
    }
    if (options_.several_nodes && nets.size() != 2) {
      diagnostics_.error(
          element.where,
          fmt::format("a channel over several nodes has two <net>: found {}", nets.size()));
    } else if (options_.several_nodes) {
      channel.net_in = nets[0];
      channel.net_out = nets[1];
    }
    return channel;
  }

  void check_ranks(const XmlElement& element, std::vector<int> ranks, bool heads_only) {
    const std::size_t wanted = heads_only ? 1 : system_.gpus.size();
    std::sort(ranks.begin(), ranks.end());
    const bool repeats = std::adjacent_find(ranks.begin(), ranks.end()) != ranks.end();
    if (!repeats && (ranks.size() == wanted || (heads_only && ranks.size() > wanted))) return;
    diagnostics_.error(element.where,
                       fmt::format("a channel visits each of {} GPUs once: found {}{}", wanted,
                                   ranks.size(), repeats ? " with repetitions" : ""));
  }

  int net_named(const XmlElement& element) {
    const auto id = XmlFields(element, diagnostics_).hexadecimal("dev");
    for (std::size_t net = 0; net < system_.nets.size(); ++net) {
      const SystemNet& known = system_.nets[net];
      if (id == device_id(host_of(system_, known.node), known.device)) {
        return static_cast<int>(net);
      }
    }
    unknown(element);
    return -1;
  }

  int rank_named(const XmlElement& element) {
    const XmlFields fields(element, diagnostics_);
    const auto id = fields.hexadecimal("dev");
    const auto rank = fields.integer("rank", -1, 0, std::numeric_limits<int>::max());
    for (const SystemGpu& known : system_.gpus) {
      const bool same = rank >= 0 ? rank == known.rank
                                  : id == device_id(host_of(system_, known.node), known.device);
      if (same) return known.rank;
    }
    unknown(element);
    return -1;
  }

  void unknown(const XmlElement& element) {
    diagnostics_.error(element.where, fmt::format("the machine has no such <{}>", element.name));
  }

  void pass_over(const XmlElement& element, const XmlElement& parent) {
    diagnostics_.warning(element.where, fmt::format("<{}> in <{}> is not known and passed over",
                                                    element.name, parent.name));
  }

  const System& system_;
  const PlanningOptions& options_;
  simcore::Diagnostics& diagnostics_;
};

class GraphWriter {
 public:
  explicit GraphWriter(const System& system) : system_(system) {}

  std::string write(const NodeGraphs& graphs) {
    text_ = "<graphs version=\"1\">\n";
    write_graph(ring_graph, graphs.ring);
    write_graph(tree_graph, graphs.tree);
    if (graphs.collnet_chain) write_graph(collnet_chain_graph, *graphs.collnet_chain);
    write_graph(nvls_graph, graphs.nvls);
    if (graphs.collnet_direct) write_graph(collnet_direct_graph, *graphs.collnet_direct);
    return text_ + "</graphs>\n";
  }

 private:
  template <class... Parts>
  void add(fmt::format_string<Parts...> format, Parts&&... parts) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Parts>(parts)...);
  }

  void write_graph(int id, const ChannelGraph& graph) {
    add("  <graph id=\"{}\" pattern=\"{}\" crossnic=\"{}\" nchannels=\"{}\" speedintra=\"{}\" "
        "speedinter=\"{}\" latencyinter=\"{}\" typeintra=\"{}\" typeinter=\"{}\" "
        "samechannels=\"{:d}\">\n",
        id, static_cast<int>(graph.pattern), graph.cross_nic, graph.channel_count(),
        graph.intra_gbytes_per_second, graph.inter_gbytes_per_second, graph.latency_us,
        path_type_name(graph.type_intra), path_type_name(graph.type_inter), graph.same_channels);
    for (const GraphChannel& channel : graph.channels) {
      add("    <channel>\n");
      write_net(channel.net_in);
      for (const int rank : channel.ranks) write_gpu(rank);
      write_net(channel.net_out);
      add("    </channel>\n");
    }
    add("  </graph>\n");
  }

  void write_net(int net) {
    if (net < 0) return;
    const SystemNet& device = system_.nets[static_cast<std::size_t>(net)];
    add("      <net dev=\"{:#x}\"/>\n", device_id(host_of(system_, device.node), device.device));
  }

  void write_gpu(int rank) {
    for (const SystemGpu& gpu : system_.gpus) {
      if (gpu.rank != rank) continue;
      add("      <gpu dev=\"{:#x}\" rank=\"{}\"/>\n",
          device_id(host_of(system_, gpu.node), gpu.device), rank);
    }
  }

  const System& system_;
  std::string text_;
};

}  // namespace

std::optional<GivenGraphs> read_graph_xml(const std::shared_ptr<const simcore::SourceText>& source,
                                          const System& system, const PlanningOptions& options,
                                          simcore::Diagnostics& diagnostics) {
  const std::size_t errors_before = diagnostics.error_count();
  const auto root = parse_xml(source, diagnostics);
  if (!root) return std::nullopt;
  if (root->name != "graphs") {
    diagnostics.error(root->where,
                      fmt::format("the outermost element is <{}>: expected <graphs>", root->name));
    return std::nullopt;
  }
  GivenGraphs given = GraphReader(system, options, diagnostics).read(*root);
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return given;
}

std::string write_graph_xml(const NodeGraphs& graphs, const System& system) {
  return GraphWriter(system).write(graphs);
}

}  // namespace shardsim::nccl

#include "models/network/topology_check.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/network/device_name.hpp"
#include "simcore/integer.hpp"

namespace shardsim::network {

namespace {

/// Messages with the dotted path of the key, at its place in the file.
class Report {
 public:
  Report(const simcore::ConfigNode* root, simcore::Diagnostics& diagnostics)
      : root_(root), diagnostics_(diagnostics) {}

  void error(std::string_view path, std::string_view message) {
    diagnostics_.error(place(path), fmt::format("{}: {}", path, message));
  }

 private:
  simcore::SourceLocation place(std::string_view path) const {
    if (!root_) return {};
    const simcore::ConfigNode* node = root_;
    while (!path.empty()) {
      const std::size_t end = std::min(path.find_first_of(".["), path.size());
      const std::string_view key = path.substr(0, end);
      const simcore::ConfigNode* next = node->find(key);
      if (!next) return node->where_key(key);
      path.remove_prefix(end);
      if (path.starts_with('[')) {
        const std::size_t close = path.find(']');
        std::size_t index = 0;
        std::from_chars(path.data() + 1, path.data() + close, index);
        next = index < next->items().size() ? &next->items()[index] : nullptr;
        path.remove_prefix(close + 1);
      }
      if (path.starts_with('.')) path.remove_prefix(1);
      if (!next) break;
      node = next;
    }
    return node->where();
  }

  const simcore::ConfigNode* root_;
  simcore::Diagnostics& diagnostics_;
};

/// For specifications built in code; the reader has checked those from files.
template <class Cable>
void check_cable(const Cable& cable, std::string_view path, Report& report) {
  const double rate = cable.bandwidth.bytes_per_second;
  if (!std::isfinite(rate) || rate <= 0) report.error(path, "the bandwidth must be above zero");
  if (!(cable.efficiency.value > 0 && cable.efficiency.value <= 1)) {
    report.error(path, "the efficiency must be above 0 % and at most 100 %");
  }
  if (cable.latency < simcore::SimTime{}) report.error(path, "the latency must not be negative");
}

void check_cables(const NodeSpec& node, const std::string& where, Report& report) {
  const auto check = [&](const std::optional<CableSpec>& cable, std::string_view path) {
    if (cable) check_cable(*cable, where + std::string(path), report);
  };
  if (node.nvlink) check(node.nvlink->link, ".nvlink.link");
  if (node.cpus) check(node.cpus->interconnect, ".cpus.interconnect");
  if (node.nics) check(node.nics->link, ".nics.link");
  if (!node.pcie) return;
  check(node.pcie->link, ".pcie.link");
  check(node.pcie->gpu_link, ".pcie.gpu_link");
  check(node.pcie->nic_link, ".pcie.nic_link");
  check(node.pcie->uplink, ".pcie.uplink");
}

void check_pairs(const NodeSpec& node, const std::string& where, Report& report) {
  const NvlinkSpec& nvlink = *node.nvlink;
  std::vector<std::int64_t> used(static_cast<std::size_t>(node.gpus), 0);
  std::set<std::pair<std::int64_t, std::int64_t>> seen;
  for (std::size_t i = 0; i < nvlink.pairs.size(); ++i) {
    const NvlinkPairSpec& pair = nvlink.pairs[i];
    const std::string path = fmt::format("{}.nvlink.pairs[{}]", where, i);
    if (pair.gpus.size() != 2 || pair.gpus[0] == pair.gpus[1]) {
      report.error(path, "expected two different GPUs");
      continue;
    }
    const auto [low, high] = std::minmax(pair.gpus[0], pair.gpus[1]);
    if (low < 0 || high >= node.gpus) {
      report.error(path, fmt::format("the node has GPUs 0 to {}", node.gpus - 1));
      continue;
    }
    if (!seen.insert({low, high}).second) report.error(path, "these GPUs are joined already");
    for (const std::int64_t gpu : {low, high}) {
      std::int64_t& links = used[static_cast<std::size_t>(gpu)];
      links += pair.links;
      if (links <= nvlink.links_per_gpu || links - pair.links > nvlink.links_per_gpu) continue;
      report.error(path, fmt::format("GPU {} has only {} links", gpu, nvlink.links_per_gpu));
    }
  }
}

void check_nvlink(const NodeSpec& node, const std::string& where, Report& report) {
  if (!node.nvlink) return;
  const NvlinkSpec& nvlink = *node.nvlink;
  if (nvlink.links_per_gpu < 1 || nvlink.nodes_per_domain < 1) {
    report.error(where + ".nvlink", "'links_per_gpu' and 'nodes_per_domain' are at least 1");
  }
  if (nvlink.layout == NvlinkLayout::pairs && nvlink.pairs.empty()) {
    report.error(where + ".nvlink.layout", "the layout 'pairs' needs the list 'pairs'");
  }
  if (nvlink.layout != NvlinkLayout::pairs && !nvlink.pairs.empty()) {
    report.error(where + ".nvlink.pairs", "only the layout 'pairs' has a list of pairs");
  }
  if (nvlink.layout == NvlinkLayout::full_mesh && nvlink.links_per_gpu < node.gpus - 1) {
    report.error(where + ".nvlink.links_per_gpu",
                 fmt::format("a full mesh of {} GPUs needs {} links per GPU at least", node.gpus,
                             node.gpus - 1));
  }
  if (nvlink.layout != NvlinkLayout::nvswitch && nvlink.nodes_per_domain != 1) {
    report.error(where + ".nvlink.nodes_per_domain", "only the layout 'nvswitch' spans nodes");
  }
  check_pairs(node, where, report);
}

/// A list such as `gpus_at`: one entry per device, each a CPU or PCIe switch of the node.
void check_parents(const NodeSpec& node, const std::string& where,
                   const std::vector<std::string>& at, std::int64_t count, std::string_view key,
                   Report& report) {
  if (at.empty()) return;
  const std::string path = fmt::format("{}.pcie.{}", where, key);
  if (std::cmp_not_equal(at.size(), count)) {
    report.error(path, fmt::format("expected {} entries, found {}", count, at.size()));
  }
  for (std::size_t i = 0; i < at.size(); ++i) {
    const auto parent = parse_device_name(fmt::format("node[0].{}", at[i]));
    const bool is_cpu = parent && parent->kind == DeviceKind::cpu;
    const bool is_switch = parent && parent->kind == DeviceKind::pcie_switch;
    // A switch may hang on one before it, so that no circle can form.
    const std::int64_t switches =
        key == "switches_at" ? static_cast<std::int64_t>(i) : node.switch_count();
    if ((is_cpu && parent->index < node.cpu_count()) || (is_switch && parent->index < switches)) {
      continue;
    }
    report.error(
        fmt::format("{}[{}]", path, i),
        fmt::format(
            "expected one of cpu[0] to cpu[{}]{}, found '{}'", node.cpu_count() - 1,
            switches > 0 ? fmt::format(" or pcie_switch[0] to pcie_switch[{}]", switches - 1) : "",
            at[i]));
  }
}

void check_node(const NodeSpec& node, const std::string& where, Report& report) {
  // Twice what machines have. Without a switch NCCL tries the orders of GPUs one after another.
  constexpr std::int64_t most_without_switch = 64;
  const bool switched = node.nvlink && node.nvlink->layout == NvlinkLayout::nvswitch;
  if (!switched && node.gpus > most_without_switch) {
    report.error(where + ".gpus",
                 fmt::format("expected at most {} in a node without NVLink switches, found {}",
                             most_without_switch, node.gpus));
  }
  if (node.cpus && node.cpus->count > 1 && !node.cpus->interconnect) {
    report.error(where + ".cpus", fmt::format("{} CPUs need an 'interconnect'", node.cpus->count));
  }
  if (node.pcie && !node.cpus) report.error(where + ".pcie", "PCIe needs 'cpus' to hang on");
  if (node.nic_count() > 0 && !node.pcie) {
    report.error(where + ".nics", "NICs need 'pcie' to hang on");
  }
  if (!node.pcie || !node.cpus) return;
  check_parents(node, where, node.pcie->gpus_at, node.gpus, "gpus_at", report);
  check_parents(node, where, node.pcie->nics_at, node.nic_count(), "nics_at", report);
  check_parents(node, where, node.pcie->switches_at, node.pcie->switches, "switches_at", report);
}

void check_other_nodes(const TopologySpec& spec, Report& report) {
  for (std::size_t i = 0; i < spec.other_nodes.size(); ++i) {
    const OtherNodesSpec& other = spec.other_nodes[i];
    const std::string path = fmt::format("other_nodes[{}]", i);
    if (other.first < 0 || other.last < other.first) {
      report.error(path, "expected 'last' to be at least 'first'");
    }
    if (other.node.gpus != spec.node.gpus) {
      report.error(path + ".node.gpus", fmt::format("expected {} as in 'node', found {}",
                                                    spec.node.gpus, other.node.gpus));
      continue;
    }
    if (has_rails(spec.fabric.kind) && other.node.nic_count() > spec.node.nic_count()) {
      report.error(path + ".node.nics.count",
                   fmt::format("there are only {} rails", spec.node.nic_count()));
    }
    const auto domain = [](const NodeSpec& node) {
      return node.nvlink ? node.nvlink->nodes_per_domain : 1;
    };
    if (domain(other.node) != domain(spec.node)) {
      report.error(path + ".node.nvlink", "NVLink domains must be as in 'node'");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (other.first > spec.other_nodes[j].last || other.last < spec.other_nodes[j].first)
        continue;
      report.error(path, fmt::format("some of these nodes are in other_nodes[{}] too", j));
    }
    check_cables(other.node, path + ".node", report);
    check_node(other.node, path + ".node", report);
    check_nvlink(other.node, path + ".node", report);
  }
}

void check_torus(const FabricSpec& fabric, Report& report) {
  if (fabric.kind != FabricKind::torus) {
    if (fabric.torus) report.error("fabric.torus", "only the kind 'torus' has a shape");
    return;
  }
  if (!fabric.torus) return report.error("fabric.kind", "the kind 'torus' needs 'torus'");
  constexpr std::int64_t longest = 1000;
  const auto& dimensions = fabric.torus->dimensions;
  if (dimensions.size() < 2 || dimensions.size() > 3 ||
      std::ranges::any_of(dimensions, [](std::int64_t n) { return n < 2 || n > longest; })) {
    report.error("fabric.torus.dimensions", "expected two or three numbers from 2 to 1000");
  }
  check_cable(fabric.torus->link, "fabric.torus.link", report);
}

void check_pods(const FabricSpec& fabric, Report& report) {
  const PodSpec pods = fabric.pods.value_or(PodSpec{});
  if (pods.nodes < 1 || pods.cores < 1 || !(pods.oversubscription > 0)) {
    report.error("fabric.pods", "its numbers are positive");
  }
  if (fabric.pods && fabric.nodes_per_leaf > 0 && fabric.pods->nodes % fabric.nodes_per_leaf != 0) {
    report.error("fabric.pods.nodes",
                 fmt::format("expected a multiple of nodes_per_leaf ({})", fabric.nodes_per_leaf));
  }
  if (fabric.pods && fabric.kind == FabricKind::rail_only) {
    report.error("fabric.pods", "a fabric of kind 'rail_only' has two tiers");
  }
  if (!fabric.pods && fabric.kind == FabricKind::dragonfly_plus) {
    report.error("fabric.kind", "the kind 'dragonfly_plus' needs 'pods'");
  }
}

void check_fabric(const TopologySpec& spec, Report& report) {
  const FabricSpec& fabric = spec.fabric;
  const bool grouped = has_leaves(fabric.kind);
  if (fabric.spines < 0 || !(fabric.oversubscription > 0)) {
    report.error("fabric", "'oversubscription' is positive and 'spines' not negative");
  }
  if (fabric.kind != FabricKind::none && spec.node.nic_count() == 0) {
    report.error("fabric.kind", "a network needs NICs in the node");
  }
  if (grouped && fabric.nodes_per_leaf < 1) {
    report.error("fabric", "this kind needs 'nodes_per_leaf'");
  }
  if (!grouped && (fabric.nodes_per_leaf != 0 || fabric.spines != 1 || fabric.pods ||
                   fabric.oversubscription != 1)) {
    report.error("fabric",
                 "'nodes_per_leaf', 'oversubscription', 'spines' and 'pods' go with "
                 "'rail_optimised', 'rail_only', 'fat_tree' and 'dragonfly_plus'");
  }
  check_pods(fabric, report);
  check_torus(fabric, report);
  const SwitchCounts& switches = fabric.switches;
  const bool counts_switches = switches.leaf + switches.spine + switches.core > 0;
  if (fabric.kind != FabricKind::links && counts_switches) {
    report.error("fabric.switches", "only the kind 'links' names its switches");
  }
  if (fabric.kind == FabricKind::links && spec.links.empty()) {
    report.error("fabric.kind", "the kind 'links' needs the list 'links'");
  }
  if (!spec.links.empty() && !fabric.max_nodes) {
    report.error("links", "needs 'max_nodes' in 'fabric', so that names of nodes can be checked");
  }
}

/// One end of a link; nothing if it was reported.
std::optional<Vertex> check_end(const TopologySpec& spec, const std::string& name,
                                const std::string& path, Report& report) {
  const auto device = parse_device_name(name);
  if (!device) {
    report.error(path, device.error());
    return std::nullopt;
  }
  const std::int64_t nodes = spec.fabric.max_nodes.value_or(1);
  if (has_device(spec, *device, nodes, spec.node.gpus)) return *device;
  report.error(path, fmt::format("there is no device '{}' in {} node{}", name, nodes,
                                 nodes == 1 ? "" : "s"));
  return std::nullopt;
}

void check_links(const TopologySpec& spec, Report& report) {
  if (!spec.fabric.max_nodes) return;
  for (std::size_t i = 0; i < spec.links.size(); ++i) {
    const LinkSpec& link = spec.links[i];
    const std::string path = fmt::format("links[{}]", i);
    check_cable(link, path, report);
    const auto from = check_end(spec, link.from, path + ".from", report);
    const auto to = check_end(spec, link.to, path + ".to", report);
    if (!from || !to) continue;
    const auto kind = link_kind_between(from->kind, to->kind);
    if (!kind) {
      report.error(path, kind.error());
      continue;
    }
    if (link.from == link.to) report.error(path, "a device is not linked to itself");
    if ((from->node == every_node && to->node >= 0) ||
        (to->node == every_node && from->node >= 0)) {
      report.error(path, "'node[*]' stands on both ends or opposite a switch of the fabric");
    }
    const bool inside = *kind == LinkKind::pcie || *kind == LinkKind::cpu_interconnect;
    if (inside && from->node != to->node) report.error(path, "PCIe stays within a node");
  }
}

}  // namespace

std::expected<LinkKind, std::string> link_kind_between(DeviceKind a, DeviceKind b) {
  using enum DeviceKind;
  const auto is = [&](DeviceKind one, DeviceKind other) {
    return (a == one && b == other) || (a == other && b == one);
  };
  if (is(network_switch, network_switch) || is(network_switch, nic) || is(nic, nic)) {
    return LinkKind::network;
  }
  if (is(gpu, gpu) || is(gpu, nvswitch) || is(nvswitch, nvswitch)) return LinkKind::nvlink;
  if (is(cpu, cpu)) return LinkKind::cpu_interconnect;
  const auto on_pcie = [](DeviceKind kind) {
    return kind == gpu || kind == nic || kind == pcie_switch || kind == cpu;
  };
  if (on_pcie(a) && on_pcie(b)) return LinkKind::pcie;
  return std::unexpected(
      fmt::format("no cable joins '{}' and '{}'", device_word(a, 0), device_word(b, 0)));
}

bool has_device(const TopologySpec& spec, const Vertex& device, std::int64_t nodes,
                std::int64_t gpus_per_node) {
  const NodeSpec& node = device.node >= 0 ? spec.node_at(device.node) : spec.node;
  if (device.node >= nodes) return false;
  const bool spans = node.nvlink && node.nvlink->nodes_per_domain > 1;
  switch (device.kind) {
    case DeviceKind::gpu:
      return device.index < std::min(node.gpus, gpus_per_node);
    case DeviceKind::nvswitch: {
      if (!node.nvlink || node.nvlink->layout != NvlinkLayout::nvswitch) return false;
      if (device.node != -1) return !spans && device.index == 0;
      const std::int64_t domains = simcore::divide_up(nodes, node.nvlink->nodes_per_domain);
      return spans && device.index < domains;
    }
    case DeviceKind::pcie_switch:
      return device.index < node.switch_count();
    case DeviceKind::cpu:
      return device.index < node.cpu_count();
    case DeviceKind::nic:
      return device.index < node.nic_count();
    case DeviceKind::network_switch:
      return device.index < switch_counts(spec, nodes)[static_cast<std::size_t>(device.tier)];
  }
  return false;
}

bool check_topology(const TopologySpec& spec, const simcore::ConfigNode* root,
                    simcore::Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  Report report(root, diagnostics);
  if (spec.node.gpus < 1) {
    report.error("node.gpus", "a node has at least one GPU");
    return false;
  }
  check_cables(spec.node, "node", report);
  check_node(spec.node, "node", report);
  check_nvlink(spec.node, "node", report);
  check_fabric(spec, report);
  check_other_nodes(spec, report);
  if (diagnostics.error_count() == errors) check_links(spec, report);
  return diagnostics.error_count() == errors;
}

}  // namespace shardsim::network

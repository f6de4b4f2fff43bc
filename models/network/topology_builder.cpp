#include "models/network/topology_builder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "models/network/device_name.hpp"
#include "models/network/topology_check.hpp"
#include "simcore/integer.hpp"

namespace shardsim::network {

namespace {

/// Devices of one node.
struct NodeDevices {
  std::vector<VertexId> gpus;
  std::optional<VertexId> nvswitch;
  std::vector<VertexId> pcie_switches;
  std::vector<VertexId> cpus;
  std::vector<VertexId> nics;
};

/// What hangs on what in a kind of node, its names read once.
struct NodePlan {
  struct Parent {
    bool cpu = false;
    std::size_t index = 0;
  };
  const NodeSpec* spec = nullptr;
  std::vector<Parent> switches;
  std::vector<Parent> gpus;
  std::vector<Parent> nics;

  explicit NodePlan(const NodeSpec& node) : spec(&node) {
    if (!node.pcie) return;
    const PcieSpec& pcie = *node.pcie;
    switches = parents(pcie.switches, pcie.switches_at, {"cpu", node.cpu_count()});
    gpus = parents(node.gpus, pcie.gpus_at, pcie_parents(node));
    nics = parents(node.nic_count(), pcie.nics_at, pcie_parents(node));
  }

 private:
  static std::vector<Parent> parents(std::int64_t count, const std::vector<std::string>& at,
                                     std::pair<std::string_view, std::int64_t> kin) {
    std::vector<Parent> made;
    for (std::int64_t i = 0; i < count; ++i) {
      const Vertex device =
          *parse_device_name("node[0]." + parent_name(at, i, count, kin.first, kin.second));
      made.push_back({device.kind == DeviceKind::cpu, static_cast<std::size_t>(device.index)});
    }
    return made;
  }
};

class Builder {
 public:
  Builder(const TopologySpec& spec, std::int64_t nodes, std::int64_t gpus_per_node)
      : spec_(spec), nodes_(nodes), gpus_per_node_(gpus_per_node), plans_{NodePlan(spec.node)} {
    for (const OtherNodesSpec& other : spec.other_nodes) plans_.emplace_back(other.node);
  }

  Graph build(simcore::Diagnostics& diagnostics) {
    devices_.reserve(static_cast<std::size_t>(nodes_));
    for (Index n = 0; n < nodes_; ++n) {
      add_devices(static_cast<std::int32_t>(n));
      join_pcie(plan(n), devices_.back());
    }
    join_nvlink();
    add_switches();
    join_fabric();
    for (std::size_t i = 0; i < spec_.links.size(); ++i) join_listed(i, diagnostics);
    return std::move(graph_);
  }

 private:
  using Index = std::int64_t;

  const NodePlan& plan(Index node) const {
    for (std::size_t i = 0; i < spec_.other_nodes.size(); ++i) {
      const OtherNodesSpec& other = spec_.other_nodes[i];
      if (node >= other.first && node <= other.last) return plans_[i + 1];
    }
    return plans_[0];
  }
  std::vector<VertexId> add(DeviceKind kind, std::int32_t node, Index count,
                            std::int32_t tier = 0) {
    std::vector<VertexId> added;
    added.reserve(static_cast<std::size_t>(count));
    for (Index i = 0; i < count; ++i) {
      added.push_back(graph_.add_vertex(
          {.kind = kind, .node = node, .index = static_cast<std::int32_t>(i), .tier = tier}));
    }
    return added;
  }
  void join(VertexId a, VertexId b, LinkKind kind, simcore::BitRate bandwidth,
            simcore::SimTime latency) {
    graph_.add_link({.from = a, .to = b, .kind = kind, .bandwidth = bandwidth, .latency = latency});
    graph_.add_link({.from = b, .to = a, .kind = kind, .bandwidth = bandwidth, .latency = latency});
  }
  void join(VertexId a, VertexId b, LinkKind kind, const CableSpec& cable, double cables = 1) {
    join(a, b, kind, {cable.usable().bytes_per_second * cables}, cable.latency);
  }
  bool shares_nvswitch() const {
    return spec_.node.nvlink && spec_.node.nvlink->nodes_per_domain > 1;
  }

  void add_devices(std::int32_t number) {
    const NodeSpec& node = *plan(number).spec;
    NodeDevices devices;
    devices.gpus = add(DeviceKind::gpu, number, gpus_per_node_);
    if (node.nvlink && node.nvlink->layout == NvlinkLayout::nvswitch && !shares_nvswitch()) {
      devices.nvswitch = add(DeviceKind::nvswitch, number, 1)[0];
    }
    devices.pcie_switches = add(DeviceKind::pcie_switch, number, node.switch_count());
    devices.cpus = add(DeviceKind::cpu, number, node.cpu_count());
    devices.nics = add(DeviceKind::nic, number, node.nic_count());
    devices_.push_back(std::move(devices));
  }

  void hang(const NodeDevices& devices, const std::vector<VertexId>& children,
            const std::vector<NodePlan::Parent>& parents, const CableSpec& cable) {
    for (std::size_t i = 0; i < children.size(); ++i) {
      const auto& kin = parents[i].cpu ? devices.cpus : devices.pcie_switches;
      join(children[i], kin[parents[i].index], LinkKind::pcie, cable);
    }
  }
  void join_pcie(const NodePlan& plan, const NodeDevices& devices) {
    const NodeSpec& node = *plan.spec;
    for (std::size_t a = 0; a < devices.cpus.size(); ++a) {
      for (std::size_t b = a + 1; b < devices.cpus.size(); ++b) {
        join(devices.cpus[a], devices.cpus[b], LinkKind::cpu_interconnect,
             *node.cpus->interconnect);
      }
    }
    if (!node.pcie) return;
    const PcieSpec& pcie = *node.pcie;
    hang(devices, devices.pcie_switches, plan.switches, pcie.uplink.value_or(pcie.link));
    hang(devices, devices.gpus, plan.gpus, pcie.gpu_link.value_or(pcie.link));
    hang(devices, devices.nics, plan.nics, pcie.nic_link.value_or(pcie.link));
  }

  void join_nvlink() {
    if (shares_nvswitch()) {
      const Index size = spec_.node.nvlink->nodes_per_domain;
      shared_nvswitches_ = add(DeviceKind::nvswitch, -1, simcore::divide_up(nodes_, size));
    }
    for (std::size_t n = 0; n < devices_.size(); ++n) {
      if (plan(static_cast<Index>(n)).spec->nvlink) join_nvlink(n);
    }
  }
  void join_nvlink(std::size_t n) {
    const NvlinkSpec& nvlink = *plan(static_cast<Index>(n)).spec->nvlink;
    const auto links_per_gpu = static_cast<double>(nvlink.links_per_gpu);
    const std::vector<VertexId>& gpus = devices_[n].gpus;
    switch (nvlink.layout) {
      case NvlinkLayout::nvswitch: {
        const VertexId to =
            shares_nvswitch()
                ? shared_nvswitches_[n / static_cast<std::size_t>(nvlink.nodes_per_domain)]
                : *devices_[n].nvswitch;
        for (const VertexId gpu : gpus) join(gpu, to, LinkKind::nvlink, nvlink.link, links_per_gpu);
        break;
      }
      case NvlinkLayout::full_mesh: {
        const double cables = links_per_gpu / static_cast<double>(spec_.node.gpus - 1);
        for (std::size_t a = 0; a < gpus.size(); ++a) {
          for (std::size_t b = a + 1; b < gpus.size(); ++b) {
            join(gpus[a], gpus[b], LinkKind::nvlink, nvlink.link, cables);
          }
        }
        break;
      }
      case NvlinkLayout::pairs:
        for (const NvlinkPairSpec& pair : nvlink.pairs) {
          if (std::max(pair.gpus[0], pair.gpus[1]) >= gpus_per_node_) continue;
          join(gpus[static_cast<std::size_t>(pair.gpus[0])],
               gpus[static_cast<std::size_t>(pair.gpus[1])], LinkKind::nvlink, nvlink.link,
               static_cast<double>(pair.links));
        }
        break;
    }
  }

  void add_switches() {
    const auto counts = switch_counts(spec_, nodes_);
    for (std::size_t tier = 0; tier < counts.size(); ++tier) {
      switches_[tier] =
          add(DeviceKind::network_switch, -1, counts[tier], static_cast<std::int32_t>(tier));
    }
  }

  std::size_t rails() const {
    if (!has_rails(spec_.fabric.kind)) return 1;
    return std::max<std::size_t>(static_cast<std::size_t>(spec_.node.nic_count()), 1);
  }
  std::size_t nodes_per_switch() const {
    switch (spec_.fabric.kind) {
      case FabricKind::single_switch:
        return devices_.size();
      case FabricKind::torus:
        return 1;
      default:
        return static_cast<std::size_t>(spec_.fabric.nodes_per_leaf);
    }
  }
  void join_fabric() {
    const FabricSpec& fabric = spec_.fabric;
    if (fabric.kind == FabricKind::none || fabric.kind == FabricKind::links) return;
    const std::size_t per_switch = std::max<std::size_t>(nodes_per_switch(), 1);
    for (std::size_t n = 0; n < devices_.size(); ++n) {
      const NodeSpec& node = *plan(static_cast<Index>(n)).spec;
      for (std::size_t i = 0; i < devices_[n].nics.size(); ++i) {
        const std::size_t leaf = n / per_switch * rails() + i % rails();
        join(devices_[n].nics[i], switches_[0][leaf], LinkKind::network, node.nics->link);
      }
    }
    if (fabric.kind == FabricKind::torus) join_torus();
    if (!switches_[1].empty()) join_tiers();
  }

  /// What all leaves of one group and rail can send up.
  double leaf_up() const {
    const FabricSpec& fabric = spec_.fabric;
    const auto ports = static_cast<double>(fabric.nodes_per_leaf * spec_.node.nic_count()) /
                       static_cast<double>(rails());
    return ports * spec_.node.nics->link.usable().bytes_per_second / fabric.oversubscription;
  }
  void join_tiers() {
    const FabricSpec& fabric = spec_.fabric;
    const auto spines = static_cast<std::size_t>(fabric.spines);
    // With rail_only each rail is what a pod is elsewhere: leaves with spines of their own.
    const bool planes = fabric.kind == FabricKind::rail_only;
    const std::size_t pods = switches_[1].size() / spines;
    const std::size_t leaves_per_pod =
        fabric.pods ? static_cast<std::size_t>(fabric.pods->nodes / fabric.nodes_per_leaf) * rails()
                    : switches_[0].size() / (planes ? rails() : 1);
    const simcore::BitRate up{leaf_up() / static_cast<double>(spines)};
    for (std::size_t leaf = 0; leaf < switches_[0].size(); ++leaf) {
      const std::size_t pod = planes ? leaf % rails() : pods == 1 ? 0 : leaf / leaves_per_pod;
      for (std::size_t s = 0; s < spines; ++s) {
        join(switches_[0][leaf], switches_[1][pod * spines + s], LinkKind::network, up,
             fabric.switch_latency);
      }
    }
    if (!fabric.pods || pods == 1) return;
    const double spine_up =
        up.bytes_per_second * static_cast<double>(leaves_per_pod) / fabric.pods->oversubscription;
    if (fabric.kind == FabricKind::dragonfly_plus) {
      join_pods(pods, spines, spine_up / static_cast<double>(pods - 1));
    } else {
      join_cores(spine_up / static_cast<double>(switches_[2].size()));
    }
  }
  void join_cores(double bandwidth) {
    for (const VertexId spine : switches_[1]) {
      for (const VertexId core : switches_[2]) {
        join(spine, core, LinkKind::network, {bandwidth}, spec_.fabric.switch_latency);
      }
    }
  }
  /// Spine s of every pod to spine s of every other.
  void join_pods(std::size_t pods, std::size_t spines, double bandwidth) {
    for (std::size_t a = 0; a < pods; ++a) {
      for (std::size_t b = a + 1; b < pods; ++b) {
        for (std::size_t s = 0; s < spines; ++s) {
          join(switches_[1][a * spines + s], switches_[1][b * spines + s], LinkKind::network,
               {bandwidth}, spec_.fabric.switch_latency);
        }
      }
    }
  }
  void join_torus() {
    const TorusSpec& torus = *spec_.fabric.torus;
    std::size_t stride = 1;
    for (const std::int64_t dimension : torus.dimensions) {
      const auto length = static_cast<std::size_t>(dimension);
      for (std::size_t n = 0; n < switches_[0].size(); ++n) {
        const std::size_t place = n / stride % length;
        if (length == 2 && place == 1) continue;
        const std::size_t next = place + 1 < length ? n + stride : n - place * stride;
        join(switches_[0][n], switches_[0][next], LinkKind::network, torus.link);
      }
      stride *= length;
    }
  }

  /// The present device; nothing if this cluster is too small to have it.
  std::optional<VertexId> find(Vertex device, std::int32_t node) const {
    if (device.node == every_node) device.node = node;
    if (!has_device(spec_, device, nodes_, gpus_per_node_)) return std::nullopt;
    const auto index = static_cast<std::size_t>(device.index);
    if (device.node < 0) {
      return device.kind == DeviceKind::nvswitch
                 ? shared_nvswitches_[index]
                 : switches_[static_cast<std::size_t>(device.tier)][index];
    }
    const NodeDevices& devices = devices_[static_cast<std::size_t>(device.node)];
    switch (device.kind) {
      case DeviceKind::gpu:
        return devices.gpus[index];
      case DeviceKind::nvswitch:
        return devices.nvswitch;
      case DeviceKind::pcie_switch:
        return devices.pcie_switches[index];
      case DeviceKind::cpu:
        return devices.cpus[index];
      case DeviceKind::nic:
      case DeviceKind::network_switch:
        break;
    }
    return devices.nics[index];
  }

  void join_listed(std::size_t i, simcore::Diagnostics& diagnostics) {
    const LinkSpec& link = spec_.links[i];
    const Vertex from = *parse_device_name(link.from);
    const Vertex to = *parse_device_name(link.to);
    const LinkKind kind = *link_kind_between(from.kind, to.kind);
    const bool each = from.node == every_node || to.node == every_node;
    for (std::int32_t n = 0; n < (each ? nodes_ : 1); ++n) {
      const auto a = find(from, n);
      const auto b = find(to, n);
      if (!a || !b) continue;
      if (graph_.find_link(*a, *b) || (!link.one_way && graph_.find_link(*b, *a))) {
        diagnostics.error(
            link.where, fmt::format("links[{}] of topology '{}': '{}' and '{}' are linked "
                                    "already",
                                    i, spec_.name, graph_.vertex_name(*a), graph_.vertex_name(*b)));
        return;
      }
      if (link.one_way) {
        graph_.add_link({.from = *a,
                         .to = *b,
                         .kind = kind,
                         .bandwidth = link.usable(),
                         .latency = link.latency});
      } else {
        join(*a, *b, kind, link.usable(), link.latency);
      }
    }
  }

  const TopologySpec& spec_;
  std::int64_t nodes_;
  std::int64_t gpus_per_node_;
  std::vector<NodePlan> plans_;  ///< of `node`, then of each of `other_nodes`
  Graph graph_;
  std::vector<NodeDevices> devices_;
  std::vector<VertexId> shared_nvswitches_;
  std::array<std::vector<VertexId>, 3> switches_;
};

/// Nodes that the topology can have, and why no more.
struct NodeLimit {
  std::int64_t nodes;
  std::string reason;
};

NodeLimit node_limit(const TopologySpec& spec, const SizeLimits& limits) {
  const NodeSpec& node = spec.node;
  const std::int64_t devices =
      node.gpus + node.switch_count() + node.cpu_count() + node.nic_count() + 1;
  NodeLimit limit{limits.devices / devices,
                  fmt::format("more than {} devices take --max-devices", limits.devices)};
  if (spec.fabric.max_nodes && *spec.fabric.max_nodes <= limit.nodes) {
    limit = {*spec.fabric.max_nodes, "its max_nodes"};
  }
  const std::int64_t joined = node.nvlink ? node.nvlink->nodes_per_domain : 1;
  if (spec.fabric.kind == FabricKind::none && joined <= limit.nodes) {
    limit = {joined, "it has no network"};
  }
  return limit;
}

/// Cables between switches; what is joined to what grows faster than the number of nodes. In
/// floating point, because it may be far beyond what there can be.
double cables_between_switches(const TopologySpec& spec, std::int64_t nodes) {
  const FabricSpec& fabric = spec.fabric;
  if (!has_leaves(fabric.kind) || fabric.nodes_per_leaf < 1) return 0;
  const auto groups = [nodes](std::int64_t size) {
    return std::ceil(static_cast<double>(nodes) / static_cast<double>(size));
  };
  const bool by_rails =
      fabric.kind == FabricKind::rail_optimised || fabric.kind == FabricKind::rail_only;
  const double rails = by_rails ? static_cast<double>(spec.node.nic_count()) : 1;
  const auto spines = static_cast<double>(fabric.spines);
  double cables = groups(fabric.nodes_per_leaf) * rails * spines;
  if (!fabric.pods) return cables;
  const double pods = groups(fabric.pods->nodes);
  const bool all_to_all = fabric.kind == FabricKind::dragonfly_plus;
  return cables + pods * spines * (all_to_all ? pods / 2 : static_cast<double>(fabric.pods->cores));
}

bool check_size(const TopologySpec& spec, const ClusterSize& size,
                simcore::Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  const NodeLimit limit = node_limit(spec, size.limits);
  const auto& torus = spec.fabric.torus;
  if (torus && size.nodes != torus_size(*torus)) {
    diagnostics.error(size.nodes_where,
                      fmt::format("topology '{}' is a torus of {} nodes, found {}", spec.name,
                                  torus_size(*torus), size.nodes));
  }
  if (has_leaves(spec.fabric.kind) && spec.fabric.spines == 0 &&
      size.nodes > spec.fabric.nodes_per_leaf) {
    diagnostics.error(size.nodes_where,
                      fmt::format("topology '{}' has no spines, so that it takes the {} nodes of "
                                  "one group at most, found {}",
                                  spec.name, spec.fabric.nodes_per_leaf, size.nodes));
  }
  if (limit.nodes == 0) {
    diagnostics.error(size.nodes_where, fmt::format("one node of topology '{}' is too many: {}",
                                                    spec.name, limit.reason));
  } else if (size.nodes < 1 || size.nodes > limit.nodes) {
    diagnostics.error(size.nodes_where,
                      fmt::format("topology '{}' takes 1 to {} nodes ({}), found {}", spec.name,
                                  limit.nodes, limit.reason, size.nodes));
  }
  const double cables = cables_between_switches(spec, size.nodes);
  if (cables > static_cast<double>(size.limits.cables)) {
    diagnostics.error(size.nodes_where,
                      fmt::format("topology '{}' with {} nodes has {:.3g} cables between switches, "
                                  "more than {}, which --max-cables raises; one spine or core may "
                                  "stand for all",
                                  spec.name, size.nodes, cables, size.limits.cables));
  }
  const std::int64_t gpus = size.gpus_per_node.value_or(spec.node.gpus);
  if (gpus < 1 || gpus > spec.node.gpus) {
    diagnostics.error(size.gpus_where,
                      fmt::format("a node of topology '{}' has {} GPU{}, found gpus_per_node {}",
                                  spec.name, spec.node.gpus, spec.node.gpus == 1 ? "" : "s", gpus));
  }
  return diagnostics.error_count() == errors;
}

}  // namespace

std::optional<Graph> build_graph(const TopologySpec& spec, const ClusterSize& size,
                                 simcore::Diagnostics& diagnostics) {
  const std::size_t errors = diagnostics.error_count();
  if (!check_topology(spec, nullptr, diagnostics)) return std::nullopt;
  if (!check_size(spec, size, diagnostics)) return std::nullopt;
  Graph graph =
      Builder(spec, size.nodes, size.gpus_per_node.value_or(spec.node.gpus)).build(diagnostics);
  if (diagnostics.error_count() != errors) return std::nullopt;
  if (const auto set = graph.set_routing(spec.fabric.routing); !set) {
    const auto& [route, message] = set.error();
    const simcore::SourceLocation& where = spec.fabric.routing.routes[route].where;
    diagnostics.error(
        where.source ? where : size.nodes_where,
        fmt::format("routes[{}] of the routing of topology '{}' with {} node{}: {}", route,
                    spec.name, size.nodes, size.nodes == 1 ? "" : "s", message));
    return std::nullopt;
  }
  if (const auto pair = graph.disconnected_pair()) {
    diagnostics.error(size.nodes_where,
                      fmt::format("topology '{}' with {} node{} is not connected: there is no "
                                  "route between '{}' and '{}'",
                                  spec.name, size.nodes, size.nodes == 1 ? "" : "s",
                                  graph.vertex_name(pair->first), graph.vertex_name(pair->second)));
    return std::nullopt;
  }
  graph.find_node_shapes();
  return graph;
}

}  // namespace shardsim::network

#include "models/network/topology_spec.hpp"

#include <fmt/format.h>

#include "models/network/topology_check.hpp"
#include "simcore/integer.hpp"

namespace shardsim::network {

namespace {

constexpr std::int64_t most_devices = 1024;  ///< of one kind in a node
// Several times what any node has: 32 sockets (HPE Superdome Flex), 32 NICs. What NCCL's planner
// looks at grows with the square of the former, each being joined to each, and of the latter.
constexpr std::int64_t most_cpus = 64;
constexpr std::int64_t most_nics = 128;
constexpr std::int64_t most_nodes = 1'000'000;

template <class T>
void describe_cable(simcore::Fields<T>& fields) {
  fields
      .required("bandwidth", &T::bandwidth,
                "Nominal rate of one direction, e.g. `400 Gbit/s` or `25 GB/s`.")
      .above(simcore::BitRate{});
  fields
      .optional("efficiency", &T::efficiency,
                "Share of the nominal rate that payload can use: what packets' headers, flow "
                "control and the library leave.")
      .above(simcore::Fraction{})
      .at_most(simcore::Fraction{1});
  fields
      .optional("latency", &T::latency,
                "Time of a small message from one end of the cable to the other.")
      .at_least(simcore::SimTime{});
}

}  // namespace

void CableSpec::describe(simcore::Fields<CableSpec>& fields) { describe_cable(fields); }

void NvlinkPairSpec::describe(simcore::Fields<NvlinkPairSpec>& fields) {
  fields.required("gpus", &NvlinkPairSpec::gpus, "The two GPUs, by their number within the node.")
      .count(2, 2);
  fields.optional("links", &NvlinkPairSpec::links, "Number of NVLinks between them.")
      .range(1, most_devices);
}

void NvlinkSpec::describe(simcore::Fields<NvlinkSpec>& fields) {
  fields.optional("layout", &NvlinkSpec::layout,
                  "`nvswitch`: all GPUs on one merged switch; `full_mesh`: every GPU to every "
                  "other, links shared out evenly; `pairs`: as `pairs` lists.");
  fields.required("links_per_gpu", &NvlinkSpec::links_per_gpu, "NVLinks of one GPU.")
      .range(1, most_devices);
  fields.required("link", &NvlinkSpec::link, "One NVLink.");
  fields.optional("pairs", &NvlinkSpec::pairs, "Which GPUs are joined, for the layout `pairs`.");
  fields
      .optional("nodes_per_domain", &NvlinkSpec::nodes_per_domain,
                "Nodes whose GPUs share one NVLink switch, e.g. the hosts of a rack.")
      .range(1, most_nodes);
}

void CpuSpec::describe(simcore::Fields<CpuSpec>& fields) {
  fields.optional("count", &CpuSpec::count, "CPU sockets of a node.").range(1, most_cpus);
  fields.required("vendor", &CpuSpec::vendor, "NCCL's estimates depend on it.");
  fields.optional("interconnect", &CpuSpec::interconnect, "Between each two CPUs.");
  fields
      .optional("memory", &CpuSpec::memory,
                "Host memory of a node, all CPUs together, e.g. `2 TiB`: what training.cpu_offload "
                "must fit into. Without it no limit is known.")
      .above(simcore::Bytes{0});
}

void PcieSpec::describe(simcore::Fields<PcieSpec>& fields) {
  fields
      .optional("switches", &PcieSpec::switches,
                "PCIe switches, dealt out evenly over the CPUs; 0: GPUs and NICs hang on the CPUs.")
      .range(0, most_devices);
  fields.required("link", &PcieSpec::link,
                  "A PCIe connection, where none of the following says otherwise.");
  fields.optional("gpu_link", &PcieSpec::gpu_link, "Between a GPU and what it hangs on.");
  fields.optional("nic_link", &PcieSpec::nic_link, "Between a NIC and what it hangs on.");
  fields.optional("uplink", &PcieSpec::uplink, "Between a PCIe switch and what it hangs on.");
  fields
      .optional("gpus_at", &PcieSpec::gpus_at,
                "What each GPU hangs on, in order; without it they are dealt out evenly.")
      .example("[\"pcie_switch[0]\", \"pcie_switch[0]\", \"cpu[1]\", \"cpu[1]\"]");
  fields.optional("nics_at", &PcieSpec::nics_at, "The same for NICs.");
  fields.optional("switches_at", &PcieSpec::switches_at,
                  "The same for PCIe switches: a CPU, or a switch with a lower number.");
}

void NicSpec::describe(simcore::Fields<NicSpec>& fields) {
  fields.required("count", &NicSpec::count, "NICs of a node that carry training traffic.")
      .range(0, most_nics);
  fields.required("link", &NicSpec::link, "A NIC's port, to the switch it is plugged into.");
  fields
      .optional(
          "plugin_latency", &NicSpec::plugin_latency,
          "Latency that NCCL's network plugin reports to NCCL's tuner, which adds it to every "
          "network step when it compares algorithms.")
      .at_least(simcore::SimTime{});
  fields
      .optional("nics_per_device", &NicSpec::nics_per_device,
                "NICs that NCCL sees as one network device, in order: ports of one card that it "
                "merges, adapters that a plugin groups. NCCL_IB_MERGE_NICS=0 undoes the former.")
      .range(1, most_nics);
  fields
      .optional("software_latency", &NicSpec::software_latency,
                "Software's part of a step between nodes, besides the cables: from the GPU's flag "
                "over NCCL's proxy threads and the network's library to the other GPU.")
      .at_least(simcore::SimTime{});
  fields
      .optional("rendezvous_latency", &NicSpec::rendezvous_latency,
                "What a message of `eager_bytes` or more takes besides, where the library asks the "
                "receiver first, one message after another.")
      .at_least(simcore::SimTime{});
  fields.optional("eager_bytes", &NicSpec::eager_bytes,
                  "Smaller messages are sent without asking the receiver first.");
}

void NodeSpec::describe(simcore::Fields<NodeSpec>& fields) {
  fields.required("gpus", &NodeSpec::gpus, "GPUs of a node; at most 64 without NVLink switches.")
      .range(1, most_devices);
  fields.optional("nvlink", &NodeSpec::nvlink, "NVLink; leave it out for a node without.");
  fields.optional("cpus", &NodeSpec::cpus, "CPU sockets.");
  fields.optional("pcie", &NodeSpec::pcie, "How GPUs and NICs hang on switches and CPUs.");
  fields.optional("nics", &NodeSpec::nics, "Network cards; leave them out for a node without.");
}

void PodSpec::describe(simcore::Fields<PodSpec>& fields) {
  fields.required("nodes", &PodSpec::nodes, "Nodes of a pod, a multiple of `nodes_per_leaf`.")
      .range(1, most_nodes);
  fields
      .optional("oversubscription", &PodSpec::oversubscription,
                "Bandwidth into a pod's spines over bandwidth from them to the cores or to other "
                "pods; 7 means 7:1.")
      .above(0.0);
  fields
      .optional("cores", &PodSpec::cores,
                "Core switches; 1 stands for all of them with ideal spreading.")
      .range(1, most_devices);
}

void TorusSpec::describe(simcore::Fields<TorusSpec>& fields) {
  fields
      .required("dimensions", &TorusSpec::dimensions,
                "Nodes along each direction, two or three of them. A direction of two nodes has "
                "one cable between them, longer ones close to a ring.")
      .count(2, 3)
      .example("[4, 4, 4]");
  fields.required("link", &TorusSpec::link, "Between the switches of neighbours.");
}

void SwitchCounts::describe(simcore::Fields<SwitchCounts>& fields) {
  fields.optional("leaf", &SwitchCounts::leaf, "Switches `leaf[0]`, `leaf[1]`, ...")
      .range(0, most_nodes);
  fields.optional("spine", &SwitchCounts::spine, "Switches `spine[0]`, `spine[1]`, ...")
      .range(0, most_nodes);
  fields.optional("core", &SwitchCounts::core, "Switches `core[0]`, `core[1]`, ...")
      .range(0, most_nodes);
}

void FabricSpec::describe(simcore::Fields<FabricSpec>& fields) {
  fields.required(
      "kind", &FabricSpec::kind,
      "`none`; `single_switch`: ideal and non-blocking; `rail_optimised`: NIC i of a "
      "group of nodes on leaf i; `rail_only`: the same with spines for each rail alone; "
      "`fat_tree`: all NICs of a group on one leaf; `dragonfly_plus`: fat-trees (pods) "
      "whose spines are joined to those of all other pods; `torus`: a switch per node, "
      "joined to its neighbours; `links`: as the list `links` says.");
  fields
      .optional("nodes_per_leaf", &FabricSpec::nodes_per_leaf,
                "Nodes of a group, which share leaves; 0 where there are none.")
      .range(0, most_nodes);
  fields
      .optional("oversubscription", &FabricSpec::oversubscription,
                "Bandwidth into a leaf from its NICs over bandwidth to the spines; 2 means 2:1.")
      .above(0.0);
  fields
      .optional(
          "spines", &FabricSpec::spines,
          "Spine switches of a pod (rail_only: of a rail), each joined to each leaf. 1 stands "
          "for all of them with ideal spreading; more are used as `routing` says; 0: none, so "
          "that there is one group at most.")
      .range(0, most_devices);
  fields
      .optional("switch_latency", &FabricSpec::switch_latency,
                "Latency of a cable between two switches and of the switch at its end.")
      .at_least(simcore::SimTime{});
  fields.optional("pods", &FabricSpec::pods,
                  "A third tier: pods joined by core switches, or to each other in a dragonfly.");
  fields.optional("torus", &FabricSpec::torus, "Shape of a fabric of kind `torus`.");
  fields.optional("switches", &FabricSpec::switches, "Switches of a fabric of kind `links`.");
  fields.optional("routing", &FabricSpec::routing,
                  "Which of several equally short ways data takes.");
  fields
      .optional("max_nodes", &FabricSpec::max_nodes,
                "Nodes that the machine has; more are refused. Needed where `links` names devices.")
      .range(1, most_nodes);
}

void LinkSpec::describe(simcore::Fields<LinkSpec>& fields) {
  fields
      .required("from", &LinkSpec::from,
                "A device; `node[*]` stands for every node (on both ends: within each node).")
      .example("node[*].nic[0]");
  fields.required("to", &LinkSpec::to, "The device at the other end.").example("leaf[0]");
  describe_cable(fields);
  fields.optional("one_way", &LinkSpec::one_way, "Only from `from` to `to`.");
}

void OtherNodesSpec::describe(simcore::Fields<OtherNodesSpec>& fields) {
  fields.required("first", &OtherNodesSpec::first, "Number of the first such node.")
      .range(0, most_nodes);
  fields.required("last", &OtherNodesSpec::last, "Number of the last one.").range(0, most_nodes);
  fields.required("node", &OtherNodesSpec::node,
                  "In what it differs: keys that are not given are those of the usual `node`.");
}

void TopologySpec::describe(simcore::Fields<TopologySpec>& fields) {
  fields.required("name", &TopologySpec::name, "Name, by which scenarios ask for it.");
  fields.optional("description", &TopologySpec::description, "One line for people.");
  fields.optional(
      "extends", &TopologySpec::extends,
      "A topology whose keys this file takes over where it gives none itself. `key: null` "
      "removes one, which then has its default again.");
  fields.required("gpu", &TopologySpec::gpu, "The GPU: the name of a file in `topologies/gpus`.")
      .not_empty();
  fields.required("node", &TopologySpec::node, "One node; all are alike but for `other_nodes`.");
  fields.optional(
      "other_nodes", &TopologySpec::other_nodes,
      "Nodes that differ: other NICs, PCIe or NVLink, with as many GPUs. NCCL's plan is "
      "made for the usual node; flows meet each node's own links.");
  fields.required("fabric", &TopologySpec::fabric, "The network between nodes.");
  fields.optional("links", &TopologySpec::links,
                  "Cables, one by one, beside those that the rest describes.");
}

void TopologySpec::check(const TopologySpec& spec, const simcore::ConfigNode& node,
                         simcore::Diagnostics& diagnostics) {
  check_topology(spec, &node, diagnostics);
}

std::string parent_name(const std::vector<std::string>& at, std::int64_t i, std::int64_t count,
                        std::string_view word, std::int64_t parents) {
  if (!at.empty()) return at[static_cast<std::size_t>(i)];
  return fmt::format("{}[{}]", word, i * parents / count);
}

std::pair<std::string_view, std::int64_t> pcie_parents(const NodeSpec& node) {
  if (node.switch_count() > 0) return {"pcie_switch", node.switch_count()};
  return {"cpu", node.cpu_count()};
}

bool has_leaves(FabricKind kind) {
  return has_rails(kind) || kind == FabricKind::fat_tree || kind == FabricKind::dragonfly_plus;
}

bool has_rails(FabricKind kind) {
  return kind == FabricKind::rail_optimised || kind == FabricKind::rail_only;
}

std::int64_t torus_size(const TorusSpec& torus) {
  std::int64_t size = 1;
  for (const std::int64_t nodes : torus.dimensions) size *= nodes;
  return size;
}

const NodeSpec& TopologySpec::node_at(std::int64_t number) const {
  for (const OtherNodesSpec& other : other_nodes) {
    if (number >= other.first && number <= other.last) return other.node;
  }
  return node;
}

std::array<std::int64_t, 3> switch_counts(const TopologySpec& spec, std::int64_t nodes) {
  const FabricSpec& fabric = spec.fabric;
  const auto groups_of = [nodes](std::int64_t size) { return simcore::divide_up(nodes, size); };
  switch (fabric.kind) {
    case FabricKind::none:
      return {0, 0, 0};
    case FabricKind::single_switch:
      return {1, 0, 0};
    case FabricKind::links:
      return {fabric.switches.leaf, fabric.switches.spine, fabric.switches.core};
    case FabricKind::torus:
      return {nodes, 0, 0};
    case FabricKind::rail_optimised:
    case FabricKind::rail_only:
    case FabricKind::fat_tree:
    case FabricKind::dragonfly_plus:
      break;
  }
  const std::int64_t rails = has_rails(fabric.kind) ? spec.node.nic_count() : 1;
  const std::int64_t groups = groups_of(fabric.nodes_per_leaf);
  const std::int64_t pods = fabric.pods ? groups_of(fabric.pods->nodes) : 1;
  if (fabric.kind == FabricKind::rail_only) {
    return {groups * rails, groups > 1 ? rails * fabric.spines : 0, 0};
  }
  if (groups * rails == 1) return {1, 0, 0};
  const bool cores = pods > 1 && fabric.kind != FabricKind::dragonfly_plus;
  return {groups * rails, pods * fabric.spines, cores ? fabric.pods->cores : 0};
}

}  // namespace shardsim::network

// A machine as data: what stands in a topology YAML file.
//
// Models: a node (GPUs, NVLink, CPUs, PCIe, NICs), repeated, nodes that differ from it, and the
// fabric that joins the nodes. Every cable is {bandwidth, efficiency, latency} per direction: the
// nominal rate, the share of it that payload can use, and the time from one end to the other.
// Assumes: all nodes have equally many GPUs of one kind; both directions of a cable are alike
// unless `one_way` says so. Leaves out: the GPU itself, named here and described in a file of its
// own.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/network/routing_spec.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::network {

struct CableSpec {
  simcore::BitRate bandwidth{};     ///< nominal, per direction
  simcore::Fraction efficiency{1};  ///< share that payload can use
  simcore::SimTime latency{};       ///< end to end, of this cable alone
  /// What a flow can use: bandwidth times efficiency.
  simcore::BitRate usable() const { return {bandwidth.bytes_per_second * efficiency.value}; }
  static void describe(simcore::Fields<CableSpec>& fields);
};

/// How the GPUs of a node (or of several) are joined by NVLink.
enum class NvlinkLayout : std::uint8_t {
  nvswitch,   ///< every GPU to one merged switch with all of its links
  full_mesh,  ///< every GPU to every other, the links of a GPU shared out evenly
  pairs,      ///< as listed
};

struct NvlinkPairSpec {
  std::vector<std::int64_t> gpus;  ///< two different GPUs of the node
  std::int64_t links = 1;
  static void describe(simcore::Fields<NvlinkPairSpec>& fields);
};

struct NvlinkSpec {
  NvlinkLayout layout = NvlinkLayout::nvswitch;
  std::int64_t links_per_gpu = 1;
  CableSpec link{};                   ///< one NVLink
  std::vector<NvlinkPairSpec> pairs;  ///< layout `pairs`
  std::int64_t nodes_per_domain = 1;  ///< nodes that share one NVLink switch
  static void describe(simcore::Fields<NvlinkSpec>& fields);
};

enum class CpuVendor : std::uint8_t { intel, amd, arm, power };

struct CpuSpec {
  std::int64_t count = 1;
  CpuVendor vendor = CpuVendor::intel;
  std::optional<CableSpec> interconnect{};  ///< between each two of them
  std::optional<simcore::Bytes> memory{};   ///< of the node, all CPUs together; nothing: unknown
  static void describe(simcore::Fields<CpuSpec>& fields);
};

struct PcieSpec {
  std::int64_t switches = 0;            ///< 0: everything hangs on the CPUs
  CableSpec link{};                     ///< where none of the following says otherwise
  std::optional<CableSpec> gpu_link{};  ///< GPU to what it hangs on
  std::optional<CableSpec> nic_link{};  ///< NIC to what it hangs on
  std::optional<CableSpec> uplink{};    ///< PCIe switch to CPU
  std::vector<std::string> gpus_at;     ///< per GPU what it hangs on; empty: dealt out evenly
  std::vector<std::string> nics_at;
  std::vector<std::string> switches_at;
  static void describe(simcore::Fields<PcieSpec>& fields);
};

struct NicSpec {
  std::int64_t count = 0;
  CableSpec link{};                   ///< NIC to the switch it is plugged into
  simcore::SimTime plugin_latency{};  ///< what NCCL's network plugin tells NCCL's tuner
  std::int64_t nics_per_device = 1;   ///< that NCCL sees as one network device, in order
  /// Software of a step between nodes: NCCL's proxy threads and the network's library.
  simcore::SimTime software_latency = simcore::SimTime::nanoseconds(6500);
  simcore::SimTime rendezvous_latency{};                ///< of messages above `eager_bytes`
  simcore::Bytes eager_bytes{std::int64_t{16} * 1024};  ///< sent without asking first
  static void describe(simcore::Fields<NicSpec>& fields);
};

struct NodeSpec {
  std::int64_t gpus = 1;
  std::optional<NvlinkSpec> nvlink;
  std::optional<CpuSpec> cpus;
  std::optional<PcieSpec> pcie;
  std::optional<NicSpec> nics;
  std::int64_t nic_count() const { return nics ? nics->count : 0; }
  std::int64_t cpu_count() const { return cpus ? cpus->count : 0; }
  /// Nothing where it is unknown.
  std::optional<simcore::Bytes> host_memory() const { return cpus ? cpus->memory : std::nullopt; }
  std::int64_t switch_count() const { return pcie ? pcie->switches : 0; }
  static void describe(simcore::Fields<NodeSpec>& fields);
};

enum class FabricKind : std::uint8_t {
  none,            ///< the nodes are not joined, or by NVLink alone
  single_switch,   ///< every NIC on one switch: an ideal, non-blocking network
  rail_optimised,  ///< NIC i of every node of a group on leaf i of that group
  rail_only,       ///< the same, and each rail has spines of its own: rails never meet
  fat_tree,        ///< all NICs of the nodes of a group on one leaf
  dragonfly_plus,  ///< pods as in a fat-tree, spine s of a pod joined to spine s of all others
  torus,           ///< a switch per node, joined to its neighbours in two or three dimensions
  links,           ///< the switches that `switches` counts, joined as the `links:` list says
};

/// A third tier: pods of leaves and spines, joined by core switches or to each other.
struct PodSpec {
  std::int64_t nodes = 1;
  double oversubscription = 1;
  std::int64_t cores = 1;
  static void describe(simcore::Fields<PodSpec>& fields);
};

/// Nodes in a grid that closes on itself; node n stands at (n mod a, n / a mod b, n / a / b).
struct TorusSpec {
  std::vector<std::int64_t> dimensions;
  CableSpec link{};  ///< between neighbours
  static void describe(simcore::Fields<TorusSpec>& fields);
};

struct SwitchCounts {
  std::int64_t leaf = 0;
  std::int64_t spine = 0;
  std::int64_t core = 0;
  static void describe(simcore::Fields<SwitchCounts>& fields);
};

struct FabricSpec {
  FabricKind kind = FabricKind::none;
  std::int64_t nodes_per_leaf = 0;  ///< of the kinds with leaves: nodes of a group
  double oversubscription = 1;      ///< of a leaf: bandwidth to NICs over bandwidth to spines
  /// Per pod, with rail_only per rail; 1 stands for all of them with ideal spreading, 0: none.
  std::int64_t spines = 1;
  simcore::SimTime switch_latency{};  ///< of a cable between two switches
  std::optional<PodSpec> pods{};
  std::optional<TorusSpec> torus{};
  SwitchCounts switches{};  ///< kind `links`
  RoutingSpec routing{};
  std::optional<std::int64_t> max_nodes{};
  static void describe(simcore::Fields<FabricSpec>& fields);
};

/// One cable of the `links:` list.
struct LinkSpec {
  std::string from;
  std::string to;
  simcore::BitRate bandwidth{};
  simcore::Fraction efficiency{1};
  simcore::SimTime latency{};
  bool one_way = false;
  simcore::SourceLocation where{};
  simcore::BitRate usable() const { return {bandwidth.bytes_per_second * efficiency.value}; }
  static void describe(simcore::Fields<LinkSpec>& fields);
};

/// Nodes unlike the others.
struct OtherNodesSpec {
  std::int64_t first = 0;
  std::int64_t last = 0;  ///< included; nodes that a smaller cluster lacks are passed over
  NodeSpec node;
  static void describe(simcore::Fields<OtherNodesSpec>& fields);
};

struct TopologySpec {
  std::string name;
  std::string description;
  std::string extends;  ///< the topology whose keys this file changes
  std::string gpu;      ///< name of a file in topologies/gpus
  NodeSpec node;
  std::vector<OtherNodesSpec> other_nodes;
  FabricSpec fabric;
  std::vector<LinkSpec> links;
  /// What a node consists of.
  const NodeSpec& node_at(std::int64_t number) const;
  static void describe(simcore::Fields<TopologySpec>& fields);
  static void check(const TopologySpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

/// What hangs where: the parent of device `i` of `count` where `at` is empty deals them out evenly
/// over `parents` devices called `word`.
std::string parent_name(const std::vector<std::string>& at, std::int64_t i, std::int64_t count,
                        std::string_view word, std::int64_t parents);

/// What NICs and GPUs hang on by default: the PCIe switches, or the CPUs if there are none.
std::pair<std::string_view, std::int64_t> pcie_parents(const NodeSpec& node);

/// Whether NICs hang on leaves that stand for groups of nodes.
bool has_leaves(FabricKind kind);
/// Whether NIC i of a node is on leaf i of its group.
bool has_rails(FabricKind kind);
/// Nodes of a torus.
std::int64_t torus_size(const TorusSpec& torus);

/// Switches of each tier (leaf, spine, core) that a fabric of so many nodes has.
std::array<std::int64_t, 3> switch_counts(const TopologySpec& spec, std::int64_t nodes);

}  // namespace shardsim::network

namespace shardsim::simcore {

template <>
struct EnumNames<network::NvlinkLayout> {
  static constexpr auto values = std::to_array<EnumName<network::NvlinkLayout>>(
      {{"nvswitch", network::NvlinkLayout::nvswitch},
       {"full_mesh", network::NvlinkLayout::full_mesh},
       {"pairs", network::NvlinkLayout::pairs}});
};

template <>
struct EnumNames<network::CpuVendor> {
  static constexpr auto values =
      std::to_array<EnumName<network::CpuVendor>>({{"intel", network::CpuVendor::intel},
                                                   {"amd", network::CpuVendor::amd},
                                                   {"arm", network::CpuVendor::arm},
                                                   {"power", network::CpuVendor::power}});
};

template <>
struct EnumNames<network::FabricKind> {
  static constexpr auto values = std::to_array<EnumName<network::FabricKind>>(
      {{"none", network::FabricKind::none},
       {"single_switch", network::FabricKind::single_switch},
       {"rail_optimised", network::FabricKind::rail_optimised},
       {"rail_only", network::FabricKind::rail_only},
       {"fat_tree", network::FabricKind::fat_tree},
       {"dragonfly_plus", network::FabricKind::dragonfly_plus},
       {"torus", network::FabricKind::torus},
       {"links", network::FabricKind::links}});
};

}  // namespace shardsim::simcore

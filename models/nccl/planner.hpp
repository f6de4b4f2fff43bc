// What NCCL plans for the communicators of a cluster: the machine as it sees it, the graphs that it
// searches on it, and from these its choices.
//
// Models: one search for each shape of communicator (which GPUs of a node, how many nodes), kept
// for the next of that shape. A node is a host, or the hosts of one NVLink domain. A NIC that was
// down when the run began is not there for NCCL: nodes that lack NICs search by themselves, and all
// agree on the fewest channels, the lowest bandwidths and the worst paths that any has found, each
// keeping its own NICs. Assumes that nodes are alike otherwise, and that trees and NVLS heads run
// through the GPUs of each as in the weakest. Leaves out communicators that NCCL splits from
// another.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/nccl/choice.hpp"
#include "models/nccl/environment.hpp"
#include "models/nccl/graph_search.hpp"
#include "models/nccl/machine.hpp"
#include "models/nccl/nccl_version.hpp"
#include "models/nccl/node_layout.hpp"
#include "models/network/topology_spec.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::nccl {

/// NCCL as it is installed and set up.
struct NcclSetup {
  NcclVersion version;
  Environment environment;
  std::optional<Machine> machine;                         ///< of NCCL_TOPO_FILE
  std::shared_ptr<const simcore::SourceText> graph_file;  ///< text of NCCL_GRAPH_FILE
};

/// `version` as in "2.27.7"; `variables` as in the shell. Problems are reported at their places.
std::optional<NcclSetup> read_setup(const std::string& version,
                                    const simcore::SourceLocation& version_where,
                                    const std::map<std::string, std::string>& variables,
                                    const VariablePlaces& variable_places,
                                    simcore::Diagnostics& diagnostics);

/// Which GPUs take part; all that the plan of a communicator depends on.
struct CommunicatorShape {
  int nodes = 1;                               ///< hosts, or NVLink domains
  std::vector<std::vector<int>> gpus_of_host;  ///< of one node: numbers on each of its hosts
  /// NICs that are down: numbers on each host of each node; one entry if nodes agree, none if all
  /// NICs are up.
  std::vector<std::vector<std::vector<int>>> absent_nics{};
  auto operator<=>(const CommunicatorShape&) const = default;

  int ranks_per_node() const;
  int ranks() const { return nodes * ranks_per_node(); }
};

/// Nothing if the nodes differ in number of hosts or of GPUs. GPUs are those of the first node.
std::optional<CommunicatorShape> shape_of(const network::Graph& graph,
                                          std::span<const Domain> domains);

/// `nodes` hosts with the first `gpus` of each; hosts of one NVLink domain are one node.
std::optional<CommunicatorShape> shape_of_cluster(const network::TopologySpec& spec,
                                                  std::int64_t nodes, std::int64_t gpus);

struct PlannedCommunicator {
  CommunicatorShape shape;
  std::int64_t nics_per_device = 1;  ///< NICs of the cluster behind a network device of the plan
  /// GPUs out of each other's reach exchange data in their CPUs' memory, else by their NICs.
  bool shared_memory = true;
  bool messages_change_rail = true;  ///< point to point by the receiver's rail (PXN)
  int queue_pairs = 1;               ///< of a connection, each with a way of its own
  std::unique_ptr<System> system;
  std::unique_ptr<Landscape> land;
  NodeGraphs graphs;
  std::unique_ptr<Selector> selector;
  /// What each node has found if they differ; else none, and this is what all have found.
  std::vector<const PlannedCommunicator*> by_node;

  const PlannedCommunicator& of_node(int node) const {
    return by_node.empty() ? *this : *by_node[static_cast<std::size_t>(node)];
  }
};

class Planner {
 public:
  /// `compute_capability` of the GPUs, times ten. Both references must outlive the planner.
  Planner(const network::TopologySpec& spec, int compute_capability, const NcclSetup& setup);
  /// The same for a machine that is given as NCCL describes it.
  Planner(Machine machine, const NcclSetup& setup);

  /// The plan for a shape; the reference stays valid as long as the planner. The error says what
  /// about the machine has no place in NCCL's view.
  std::expected<const PlannedCommunicator*, std::string> plan(const CommunicatorShape& shape) const;

  const NcclSetup& setup() const { return *setup_; }
  /// Data between nodes take TCP: so the environment says, or no NIC is left for NCCL to drive.
  bool by_sockets() const { return by_sockets_; }
  /// NCCL_IB_HCA names no NIC of a node: NCCL goes on to its sockets then.
  bool list_leaves_no_nic() const;
  /// The machine of a shape as NCCL finds it: what NCCL_TOPO_DUMP_FILE would hold.
  Machine machine_of(const CommunicatorShape& shape) const;

 private:
  std::int64_t nics_per_device() const;
  /// NCCL drives the NICs itself, without a plugin.
  bool by_verbs() const;
  /// The nodes of a cluster as NCCL finds them, all NICs with them.
  Machine described(std::int64_t hosts) const;
  /// What the environment says of transports, for the traffic of the plan.
  void note_transports(PlannedCommunicator& plan) const;
  std::expected<std::unique_ptr<PlannedCommunicator>, std::string> plan_alike(
      const CommunicatorShape& shape) const;
  std::expected<std::unique_ptr<PlannedCommunicator>, std::string> agree(
      const CommunicatorShape& shape) const;

  const network::TopologySpec* spec_ = nullptr;
  std::optional<Machine> given_;
  int compute_capability_ = 0;
  const NcclSetup* setup_;
  bool by_sockets_ = false;
  mutable std::map<CommunicatorShape, std::unique_ptr<PlannedCommunicator>> known_;
};

}  // namespace shardsim::nccl

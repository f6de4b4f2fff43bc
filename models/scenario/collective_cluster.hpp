// A cluster with NCCL on it, without a training program: what collectives and topology listings
// are about.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "models/gpu/gpu_spec.hpp"
#include "models/nccl/planner.hpp"
#include "models/nccl/ring_tuning.hpp"
#include "models/network/graph.hpp"
#include "models/network/topology_library.hpp"
#include "models/scenario/experiment.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/diagnostics.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::scenario {

/// NICs that a machine has in place of those of its topology.
struct NicChange {
  std::optional<std::int64_t> count;
  std::optional<simcore::BitRate> bandwidth;
  std::optional<simcore::Fraction> efficiency;
  std::optional<simcore::SimTime> latency;
  std::optional<simcore::SimTime> plugin_latency;
  std::optional<std::int64_t> nics_per_device;
  std::optional<simcore::SimTime> software_latency;
  std::optional<simcore::SimTime> rendezvous_latency;
  static void describe(simcore::Fields<NicChange>& fields);
};

/// What the user asks for. What comes after `env` changes the topology.
struct ClusterRequest {
  std::string topology;  ///< name or path of a YAML file, or an NCCL topology XML file
  std::int64_t nodes = 1;
  std::optional<std::int64_t> gpus_per_node;
  std::string nccl_version;                ///< "2.27.7"
  std::map<std::string, std::string> env;  ///< NCCL's variables
  NicChange nics{};
  std::optional<std::int64_t> compute_capability{};  ///< of other GPUs in its place, times ten
  std::optional<network::CableSpec> gpu_link{};      ///< GPUs to PCIe
  std::optional<std::int64_t> nodes_per_domain{};    ///< where NVLink spans nodes
  std::optional<std::int64_t> nvlink_links{};        ///< of each GPU
  network::SizeLimits limits{};
};

/// Where the parts of a request stand, for messages; nowhere if they were not written by hand.
struct RequestPlaces {
  simcore::SourceLocation nodes{};
  simcore::SourceLocation gpus_per_node{};
  simcore::SourceLocation nccl_version{};
  nccl::VariablePlaces env{};
};

struct CollectiveCluster {
  std::string name;
  network::TopologySpec spec;
  std::optional<nccl::Machine> machine;  ///< if the topology is an NCCL file
  std::optional<gpu::GpuSpec> gpu;       ///< if it is not
  network::Graph graph;
  int compute_capability = 0;  ///< times ten
  nccl::RingHardware hardware;
  nccl::NcclSetup setup;
  std::unique_ptr<nccl::Planner> planner;

  int ranks() const { return graph.gpu_count(); }
  int nodes() const { return graph.node_count(); }
};

/// On the heap, as the planner refers to its parts. Null if `diagnostics` received an error.
std::unique_ptr<CollectiveCluster> load_collective_cluster(const ClusterRequest& request,
                                                           const DataFolders& data,
                                                           simcore::Diagnostics& diagnostics,
                                                           const RequestPlaces& places = {});

}  // namespace shardsim::scenario

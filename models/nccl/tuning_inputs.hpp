// What NCCL's tuning model is fed: facts of a communicator, and what the graph search found for it.
#pragma once

#include <cstdint>

#include "models/nccl/channel_graph.hpp"
#include "models/nccl/nccl_version.hpp"
#include "models/nccl/path_type.hpp"

namespace shardsim::nccl {

/// One search result. Bandwidths are per channel, channels as searched (collectives use twice as
/// many, see choice_channels.hpp). No channels: the search found none, or was not made.
struct GraphSummary {
  int pattern = 0;  ///< NCCL's number: 1 balanced tree, 2 split tree, 3 tree, 4 ring, 5 NVLS, 6
                    ///< CollNetDirect
  int cross_nic = 0;
  int channels = 0;
  double bw_intra_gbps = 0;  ///< GB/s
  double bw_inter_gbps = 0;  ///< GB/s
  double latency_inter_us = 0;
  PathType type_intra = PathType::loc;
  PathType type_inter = PathType::loc;
  bool same_channels = false;
};

GraphSummary summary_of(const ChannelGraph& graph);

enum class CpuArchitecture : std::uint8_t { x86, arm, power };
enum class CpuVendor : std::uint8_t { intel, amd, other, mixed };

/// In-network reduction (SHARP). Off unless NCCL_COLLNET_ENABLE is set and a plugin offers it.
struct CollNetFacts {
  bool offered = false;         ///< by a plugin
  bool gathers = false;         ///< the plugin has all-gather
  bool scatters = false;        ///< the plugin has reduce-scatter
  bool chain_supported = true;  ///< every head of the chain has its resources
  int heads = 0;                ///< GPUs of a node that talk to the switch
};

struct CommunicatorFacts {
  NcclVersion version;
  int ranks = 1;
  int nodes = 1;              ///< hosts, or NVLink domains that span hosts
  int least_local_ranks = 1;  ///< on a node
  int most_local_ranks = 1;
  int least_compute_capability = 90;  ///< times ten
  int most_compute_capability = 90;
  CpuArchitecture cpu_architecture = CpuArchitecture::x86;
  CpuVendor cpu_vendor = CpuVendor::intel;
  bool nvswitch = false;
  bool multicast = false;               ///< NVLink switches add and copy (NVLS)
  bool domain_spans_hosts = false;      ///< a node is an NVLink domain of several hosts
  bool network_by_host = true;          ///< the network is driven by CPU threads, not by the device
  bool cuda_11_8 = false;               ///< the CUDA runtime is 11.8
  double least_nic_bandwidth_gbps = 0;  ///< GB/s
  CollNetFacts collnet;
};

struct TuningInputs {
  CommunicatorFacts communicator;
  GraphSummary ring;
  GraphSummary tree;
  GraphSummary collnet_direct;
  GraphSummary collnet_chain;
  GraphSummary nvls;
  int worst_tree_pattern = 0;  ///< largest number over all nodes; 0: that of `tree`
};

}  // namespace shardsim::nccl

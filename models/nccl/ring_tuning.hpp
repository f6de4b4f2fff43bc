// Constants of the protocols that rings are run with.
//
// Models: one step of a ring takes what the cables on its way take plus the protocol's cost of
// synchronising; data take a protocol's overhead on the wire and may be limited further. NCCL's
// table gives whole hops, measured on NVLink, PCIe and InfiniBand; as the cables' latencies of a
// topology add up to a hop of LL, what a protocol adds to the wire is its hop less LL's.
// Source: NVIDIA/nccl 2.30.7, src/graph/tuning.cc.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::nccl {

struct ProtocolTuning {
  std::string_view name;
  simcore::SimTime base;  ///< of an operation

  // What a step adds to the latency of the cables on its way.
  simcore::SimTime nvlink_step;
  simcore::SimTime pcie_step;
  simcore::SimTime network_step;
  simcore::SimTime network_step_alone;  ///< where a node holds one rank of the communicator
  simcore::SimTime least_inside_step;   ///< of a whole step within a node, if there are several

  double wire_factor = 1;  ///< bytes on the wire per byte of data
  double efficiency = 1;   ///< share of the ring's bandwidth that data reach at most
  simcore::BitRate limit;  ///< of data, whole ring, within one node; 0: none. See limit_between
  std::array<simcore::BitRate, 2> limit_between;  ///< the same for two nodes, and for more
  simcore::BitRate channel_limit;                 ///< of data in one channel; 0: none

  int threads = 512;                  ///< of a channel
  int bytes_per_thread = 64;          ///< below this, fewer channels are used
  bool bytes_per_rank = false;        ///< bytes_per_thread counts for each rank
  bool needs_ordered_stores = false;  ///< LL128: NVLink inside nodes, no CPU before the NIC
};

/// An all-reduce inside NVLink switches.
struct MulticastTuning {
  simcore::SimTime step;  ///< what the operation adds to the latency of the cables
  double efficiency = 0;  ///< share of the links' bandwidth that it reaches; 0: not available
  int channels = 0;
};

struct RingTuning {
  std::vector<ProtocolTuning> protocols;  ///< in the order in which ties are decided
  MulticastTuning multicast;
  /// Bandwidth that one channel makes use of within a node.
  simcore::BitRate channel_bandwidth{20e9};
};

/// What the constants depend on.
struct RingHardware {
  int compute_capability = 90;  ///< times ten: 80 A100, 90 H100, 100 B200; the least of all GPUs
  bool amd_cpu = false;
  bool nvls = true;  ///< NCCL_NVLS_ENABLE
};

RingTuning nccl_ring_tuning(const RingHardware& hardware);

}  // namespace shardsim::nccl

// What steps, copies and kernels of NCCL cost on a generation of GPUs: what its selector does not
// know and a clock needs.
//
// Models: a kernel takes a protocol's start before its first byte leaves; each step then takes what
// the cables take and the protocol's cost of synchronising two GPUs (a store, its flag, a poll; for
// Simple also fences and the network's proxy). One channel, a thread block, copies no faster than
// `copy`; NVLink switches that reduce reach a share of what the links carry.
// Assumes that GPUs of one generation are alike. The numbers are medians over published nccl-tests
// tables of that generation; timing_constants.cpp says which. Leaves out clocks and power limits.
#pragma once

#include "models/nccl/tuning_types.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::nccl {

struct ProtocolTiming {
  double start_us = 0;         ///< of an operation
  double step_us = 0;          ///< within a node, besides the cables
  double network_step_us = 0;  ///< between nodes, besides the cables
  double wire_factor = 1;      ///< bytes on the wire per byte of data
  double efficiency = 1;       ///< share of the wire's rate that it reaches
  /// Bytes of a channel that a step takes in before it hands any on, and the rate of that.
  double burst_bytes = 0;
  double burst_gbps = 20;
  /// Share of the data's time in which steps synchronise besides; the rest of both adds up.
  double overlap = 0;
};

struct TimingConstants {
  PerProtocol<ProtocolTiming> ring;
  PerProtocol<ProtocolTiming> tree;
  double copy_gbps = 0;  ///< GB/s that one channel copies

  double multicast_start_us = 0;
  double multicast_efficiency = 0;  ///< of the links, all-reduce
  double multicast_gather_efficiency = 0;
  double multicast_fill = 0;  ///< rounds over all channels that fill the pipeline
  double multicast_network_step_us = 0;

  PerProtocol<double> message_start_us;  ///< point to point; LL128 is not used
  double message_efficiency = 1;
  double own_copy_gbps = 0;  ///< GB/s at which all channels copy a rank's message to itself
};

/// `compute_capability` times ten.
TimingConstants timing_constants(int compute_capability);

}  // namespace shardsim::nccl

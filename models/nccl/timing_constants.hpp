// What steps, copies and kernels of NCCL cost on a generation of GPUs: what its selector does not
// know and a clock needs.
//
// Models: a kernel takes a protocol's start before its first byte leaves; each step then takes what
// the cables take and the protocol's cost of synchronising two GPUs (a store, its flag, a poll; for
// Simple also fences). Between nodes that cost is software: from the GPU's flag over NCCL's proxy
// thread and the network's library on either side, and where the library asks the receiver first
// (rendezvous), the round trip for that. Of a Simple chunk's two slices one moves while the other
// is handed over, which hides what does not occupy the thread block itself. One channel, a thread
// block, copies no faster than `copy`; NVLink switches that reduce reach a share of what the links
// carry.
// Assumes that GPUs of one generation are alike. timing_constants.cpp says from which published
// nccl-tests tables the numbers are, and how certain. Leaves out clocks and power limits.
#pragma once

#include "models/nccl/tuning_types.hpp"
#include "models/network/topology_spec.hpp"
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
  /// LL, LL128: share of the data's time in which steps synchronise besides; the rest adds up.
  double overlap = 0;
  /// Simple: share of `step_us` that the other slice cannot hide.
  double exposed = 0;
};

/// Of the network that nodes are joined by.
struct NetworkTiming {
  double rendezvous_us = 0;         ///< of messages that need one
  double eager_bytes = 16384;       ///< on the wire; larger messages need one
  double message_us = 0;            ///< of a proxy for each message to or from another node
  double piece_bytes = 128 * 1024;  ///< NCCL_P2P_NET_CHUNKSIZE
  double nic_gbps = 0;              ///< of one NIC; 0: not limited by messages
};

struct TimingConstants {
  PerProtocol<ProtocolTiming> ring;
  PerProtocol<ProtocolTiming> tree;
  NetworkTiming network;
  double copy_gbps = 0;         ///< GB/s that one channel copies
  double reduce_copy_gbps = 0;  ///< the same at the turning point of an all-reduce
  double byte_reduction = 1;    ///< cost of adding 8-bit integers over that of wider types
  double last_slice = 0;        ///< part of a chunk that is finished after all links have rested
  double tree_fill = 0;         ///< part of a chunk's time that each step of a tree adds

  double multicast_start_us = 0;
  double multicast_efficiency = 0;  ///< of the links, all-reduce
  double multicast_gather_efficiency = 0;
  double multicast_fill = 0;  ///< rounds over all channels that fill the pipeline
  double multicast_network_step_us = 0;
  double multicast_network_fill = 0;  ///< rounds that fill each step between nodes

  double message_ll_bytes = 16384;       ///< NCCL_P2P_LL_THRESHOLD
  PerProtocol<double> message_start_us;  ///< point to point; LL128 is not used
  double message_efficiency = 1;
  double message_fill = 0;   ///< part of the first chunks' time that is not overlapped
  double own_copy_gbps = 0;  ///< GB/s at which all channels copy a rank's message to itself
};

/// `compute_capability` times ten; `nics` may be null for a node without.
TimingConstants timing_constants(int compute_capability, const network::NicSpec* nics);

/// What a step between nodes takes besides the cables, for a message of so many bytes on the wire.
double network_step_us(const TimingConstants& constants, const ProtocolTiming& protocol,
                       double wire_bytes);

/// How much longer than its bytes alone a message of NCCL's point-to-point kernels keeps a NIC.
double message_stretch(const NetworkTiming& network);

/// A Simple step of a channel at `gbps` within a node: its chunk, and of the synchronisation that
/// takes `sync_us` what the other of two slices does not hide.
double sliced_step_us(double chunk_bytes, double gbps, double sync_us, double exposed);

}  // namespace shardsim::nccl

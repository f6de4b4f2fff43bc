// The numbers of NCCL's tuning model, by version.
//
// Latencies in us, bandwidths in GB/s. A version's constants are those of the oldest one with all
// changes up to it applied; tuning_constants.cpp holds the list of changes, one row each.
// Source: NVIDIA/nccl, src/graph/tuning.cc of the tags v2.18.3-1 to v2.30.7-1; of older releases
// only what printed tables need (rings).
#pragma once

#include <array>
#include <cstdint>

#include "models/nccl/nccl_version.hpp"
#include "models/nccl/tuning_types.hpp"

namespace shardsim::nccl {

/// First and last version whose choices are modelled.
inline constexpr NcclVersion oldest_version{18, 0};
inline constexpr NcclVersion newest_version{30, 7};
/// First version with ncclFloat8e4m3 and ncclFloat8e5m2. Source: nccl.h of 2.24.
inline constexpr NcclVersion first_version_with_fp8{24, 0};

/// What one hop of an algorithm passes.
enum class HopKind : std::uint8_t { nvlink, pcie, network };

/// Rows of the ceilings, by compute capability: below 8.0, 8.x, 9.x, 10.0 and more.
enum class Generation : std::uint8_t { volta, ampere, hopper, blackwell };

/// Ceilings of bandwidth; columns: one node, two, more.
enum class Ceiling : std::uint8_t {
  ll,          ///< LL, of all channels together
  ring_ll128,  ///< the others by channel
  tree_ll128,
  trees,
  nvls_trees,
};

/// Where a version computes otherwise, not only with other numbers. False is the older way.
struct TuningRules {
  bool rings_of_nodes_wrap = false;  ///< an all-reduce counts 2 n steps between n nodes
  bool alone_hops_by_tree = false;   ///< one rank a node: network hops cost a tree's
  bool single_ll_share = false;      ///< rings' LL: half the bandwidth, in every case
  bool single_ll128_share = false;   ///< rings' LL128: 0.92 also with one rank a node
  bool nvls_by_step = false;         ///< NVLS: hops instead of a base latency
  bool nvls_by_slower_side = false;  ///< NVLS: the lesser of intra and inter bandwidth
  bool nvls_gather_share = false;    ///< all-gather, reduce-scatter: (n-1)/n inside, 0.9 outside
  bool nvls_by_efficiency = false;   ///< NVLS: efficiency of links, counted as bus bandwidth
  bool nvls_gathers = false;         ///< all-gather and reduce-scatter by NVLS
  bool nvls_across_hosts = false;    ///< NVLS in domains that span hosts
  bool nvls_gather_needs_collnet = false;        ///< between nodes
  bool nvls_within_collective_channels = false;  ///< between nodes at most as many channels
  bool collnet_gathers = false;                  ///< all-gather and reduce-scatter by CollNetDirect
  bool collnet_gather_by_slower_side = false;
  bool collnet_direct_limited = false;           ///< to 8 ranks a node
  bool collnet_chain_limited = false;            ///< likewise
  bool pat = false;                              ///< the algorithm exists
  bool pat_needs_atomics = false;                ///< compute capability 6.0
  bool gathers_are_algorithm_bandwidth = false;  ///< not divided further, but for rings
  bool blackwell_rows = false;                   ///< else Hopper's
  bool mixed_cpus_are_amd = false;
  bool worst_tree_pattern = false;  ///< of all nodes, else of the own
  bool ll128_on_blackwell = false;
  bool ll128_on_all = false;               ///< compute capability 7.0 and more
  bool ll128_c2c = false;                  ///< NCCL_LL128_C2C
  bool ll128_mixed_gpus = false;           ///< from 9.0
  bool ring_kept_for_others = false;       ///< NCCL_ALGO cannot take rings from all but all-reduce
  bool ring_fallback = false;              ///< if NCCL_ALGO leaves nothing, rings are taken
  bool ring_fallback_by_protocol = false;  ///< but with NCCL_PROTO's protocols only
  bool lists_by_collective = false;        ///< NCCL_ALGO=allreduce:tree;...
  bool fp8_avoids_rings = false;           ///< of more than 8 ranks
  bool nvls_tree_size_factor = false;      ///< on Blackwell with x86 CPUs
  bool small_trees_uncorrected = false;    ///< below 64 bytes
  bool cell_scheduler = false;             ///< bytes to channels by cells (schedule.hpp)
  bool tree_takes_all_threads = false;
  bool tree_chunks_by_depth = false;    ///< Simple
  bool chunks_counted_in_data = false;  ///< LL128: tree chunks shrink by data, else with flags
  bool chunks_of_whole_grains = false;
  bool small_buffers_on_arm = false;
  bool nvls_small_chunks_when_slow = false;
  bool nvls_tree_chunk_limit = false;
  bool channels_doubled_from_hopper = false;  ///< on Blackwell too, not on Hopper alone
  bool channels_doubled_below_16 = false;     ///< else up to 16
  bool nvls_channels_by_generation = false;
  bool nvls_fewer_channels_on_one_node = false;
  bool nvls_tree_tuned_for_nics = false;
};

struct TuningConstants {
  PerAlgorithm<PerProtocol<double>> base_us;
  std::array<PerAlgorithm<PerProtocol<double>>, 3> hop_us;   ///< by HopKind
  std::array<std::array<std::array<double, 3>, 4>, 5> gbps;  ///< by Ceiling and Generation
  double pat_share = 0;          ///< of the trees' bandwidth that PAT reaches
  double arity_us = 0;           ///< CollNetDirect: for each further rank of a node
  double ll_hop_factor = 1;      ///< on hops within nodes if there are several nodes
  int operations_per_batch = 8;  ///< whose latency counts once, but for rings
  int most_channels = 64;
  TuningRules rules;

  double hop(HopKind kind, Algorithm algorithm, Protocol protocol) const {
    return hop_us[static_cast<std::size_t>(kind)][algorithm][protocol];
  }
  double ceiling(Ceiling ceiling, Generation row, int nodes) const {
    const std::size_t column = nodes <= 2 ? static_cast<std::size_t>(nodes - 1) : 2;
    return gbps[static_cast<std::size_t>(ceiling)][static_cast<std::size_t>(row)][column];
  }
  Generation generation(int compute_capability) const;
};

TuningConstants tuning_constants(NcclVersion version);

/// Share of its links' bandwidth that NVLS reaches (nvls_by_efficiency).
double nvls_efficiency(Generation generation);

/// Factor on the bandwidth of a tree for an operation of 64 B << step; 1 beyond the table.
double tree_size_factor(Protocol protocol, int step);

}  // namespace shardsim::nccl

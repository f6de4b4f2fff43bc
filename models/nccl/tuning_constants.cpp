#include "models/nccl/tuning_constants.hpp"

namespace shardsim::nccl {
namespace {

using enum Algorithm;
using enum HopKind;
using Row = std::array<double, 3>;  // LL, LL128, Simple; or one node, two, more

struct BaseChange {
  NcclVersion since;
  Algorithm algorithm;
  Row us;
};
constexpr std::array base_changes{
    BaseChange{{0, 0}, tree, {4.4, 4.4, 0}},
    BaseChange{{0, 0}, ring, {3.6, 10.0, 8.4}},
    BaseChange{{18, 0}, tree, {6.8, 14.0, 0}},
    BaseChange{{18, 0}, ring, {6.6, 14.0, 8.4}},
    BaseChange{{18, 0}, collnet_direct, {6.8, 14.0, 0}},
    BaseChange{{18, 0}, collnet_chain, {6.8, 14.0, 0}},
    BaseChange{{18, 0}, nvls, {0, 0, 23}},
    BaseChange{{18, 0}, nvls_tree, {0, 0, 23}},
    BaseChange{{19, 0}, collnet_direct, {0, 0, 0}},
    BaseChange{{19, 0}, collnet_chain, {0, 0, 0}},
    BaseChange{{19, 0}, nvls, {0, 0, 0}},
    BaseChange{{19, 0}, nvls_tree, {0, 0, 0}},
    BaseChange{{23, 0}, tree, {6.8, 14.0, 8.4}},
    BaseChange{{23, 0}, pat, {8, 8, 8}},
};

struct HopChange {
  NcclVersion since;
  HopKind kind;
  Algorithm algorithm;
  Row us;
};
constexpr std::array hop_changes{
    HopChange{{0, 0}, nvlink, tree, {0.52, 1.25, 28}},
    HopChange{{0, 0}, nvlink, ring, {0.47, 1.9, 3.4}},
    HopChange{{0, 0}, pcie, tree, {1.0, 1.9, 28}},
    HopChange{{0, 0}, pcie, ring, {1.0, 2.5, 5.7}},
    HopChange{{0, 0}, network, tree, {5.0, 8.5, 28}},
    HopChange{{0, 0}, network, ring, {2.7, 4.0, 9.6}},
    HopChange{{18, 0}, nvlink, ring, {0.6, 1.9, 3.4}},
    HopChange{{18, 0}, network, ring, {2.7, 4.0, 14}},
    HopChange{{18, 0}, nvlink, tree, {0.6, 1.25, 4}},
    HopChange{{18, 0}, pcie, tree, {1.0, 1.9, 6}},
    HopChange{{18, 0}, network, tree, {5.0, 8.5, 14}},
    HopChange{{18, 0}, nvlink, collnet_direct, {0, 0, 8.0}},
    HopChange{{18, 0}, pcie, collnet_direct, {0, 0, 8.0}},
    HopChange{{18, 0}, network, collnet_direct, {0, 0, 10.7}},
    HopChange{{18, 0}, nvlink, collnet_chain, {0, 0, 4.75}},
    HopChange{{18, 0}, pcie, collnet_chain, {0, 0, 8.0}},
    HopChange{{18, 0}, network, collnet_chain, {0, 0, 14}},
    HopChange{{18, 0}, network, nvls, {0, 0, 18}},
    HopChange{{18, 0}, network, nvls_tree, {0, 0, 19}},
    HopChange{{19, 0}, nvlink, tree, {0.6, 1.25, 28}},
    HopChange{{19, 0}, pcie, tree, {1.0, 1.9, 28}},
    HopChange{{19, 0}, network, tree, {5.0, 8.5, 28}},
    HopChange{{19, 0}, nvlink, collnet_direct, {0, 0, 3.7}},
    HopChange{{19, 0}, pcie, collnet_direct, {0, 0, 3.7}},
    HopChange{{19, 0}, network, collnet_direct, {0, 0, 31}},
    HopChange{{19, 0}, nvlink, collnet_chain, {0, 0, 2.8}},
    HopChange{{19, 0}, pcie, collnet_chain, {0, 0, 2.8}},
    HopChange{{19, 0}, network, collnet_chain, {0, 0, 30}},
    HopChange{{19, 0}, nvlink, nvls, {0, 0, 23}},
    HopChange{{19, 0}, nvlink, nvls_tree, {0, 0, 23}},
    HopChange{{19, 0}, network, nvls_tree, {0, 0, 14}},
    HopChange{{21, 0}, nvlink, nvls, {0, 0, 25}},
    HopChange{{21, 0}, nvlink, nvls_tree, {0, 0, 25}},
    HopChange{{23, 0}, nvlink, tree, {0.6, 1.25, 4}},
    HopChange{{23, 0}, pcie, tree, {1.0, 1.9, 4}},
    HopChange{{23, 0}, network, tree, {5.0, 8.5, 14}},
    HopChange{{28, 0}, nvlink, pat, {0, 0, 4}},
    HopChange{{28, 0}, pcie, pat, {0, 0, 4}},
    HopChange{{28, 0}, network, pat, {0, 0, 14}},
    HopChange{{28, 9}, network, nvls_tree, {0, 0, 20.9}},
};

struct CeilingChange {
  NcclVersion since;
  Ceiling ceiling;
  Generation generation;
  Row gbps;
};
using enum Ceiling;
using enum Generation;
constexpr std::array ceiling_changes{
    CeilingChange{{0, 0}, ll, volta, {39.0, 39.0, 20.4}},
    CeilingChange{{0, 0}, ll, ampere, {87.7, 22.5, 19.0}},
    CeilingChange{{0, 0}, ll, hopper, {87.7, 22.5, 19.0}},
    CeilingChange{{0, 0}, ring_ll128, volta, {20, 20, 20}},
    CeilingChange{{0, 0}, ring_ll128, ampere, {20, 20, 20}},
    CeilingChange{{0, 0}, ring_ll128, hopper, {36.7, 36.7, 36.7}},
    CeilingChange{{0, 0}, tree_ll128, volta, {20, 20, 20}},
    CeilingChange{{0, 0}, tree_ll128, ampere, {20, 20, 20}},
    CeilingChange{{0, 0}, tree_ll128, hopper, {36.7, 36.7, 29.0}},
    CeilingChange{{0, 0}, trees, volta, {26.5, 18.5, 10.0}},
    CeilingChange{{0, 0}, trees, ampere, {24.0, 23.6, 17.8}},
    CeilingChange{{0, 0}, trees, hopper, {38.7, 41.4, 36.0}},
    CeilingChange{{21, 0}, ll, hopper, {141.0, 45.0, 35.0}},
    CeilingChange{{25, 0}, ll, blackwell, {282.0, 90.0, 70.0}},
    CeilingChange{{25, 0}, ring_ll128, blackwell, {73.4, 73.4, 73.4}},
    CeilingChange{{25, 0}, tree_ll128, blackwell, {73.4, 73.4, 58.0}},
    CeilingChange{{25, 0}, trees, blackwell, {77.4, 82.8, 72.0}},
    CeilingChange{{28, 0}, tree_ll128, blackwell, {55.6, 31.67, 20.0}},
    CeilingChange{{28, 0}, trees, blackwell, {70.0, 42.8, 24.0}},
    CeilingChange{{28, 0}, nvls_trees, volta, {26.5, 18.5, 10.0}},
    CeilingChange{{28, 0}, nvls_trees, ampere, {24.0, 23.6, 17.8}},
    CeilingChange{{28, 0}, nvls_trees, hopper, {0, 57.7, 45.5}},
    CeilingChange{{28, 0}, nvls_trees, blackwell, {0, 96.0, 43.1}},
    CeilingChange{{28, 7}, ring_ll128, blackwell, {73.4, 34.6, 73.4}},
    CeilingChange{{28, 9}, nvls_trees, blackwell, {0, 96.0, 43.8}},
    CeilingChange{{29, 0}, ring_ll128, blackwell, {34.5, 34.6, 34.5}},
    CeilingChange{{29, 7}, ring_ll128, blackwell, {40.0, 40.0, 40.0}},
    CeilingChange{{30, 0}, nvls_trees, blackwell, {0, 96.0, 80.0}},
};

struct NumberChange {
  NcclVersion since;
  double TuningConstants::* number;
  double value;
};
constexpr std::array number_changes{
    NumberChange{{0, 0}, &TuningConstants::ll_hop_factor, 1.8},
    NumberChange{{18, 0}, &TuningConstants::ll_hop_factor, 1},
    NumberChange{{18, 0}, &TuningConstants::arity_us, 0.5},
    NumberChange{{19, 0}, &TuningConstants::arity_us, 0.4},
    NumberChange{{23, 0}, &TuningConstants::pat_share, 0.85},
    NumberChange{{24, 0}, &TuningConstants::pat_share, 0.75},
};

struct CountChange {
  NcclVersion since;
  int TuningConstants::* count;
  int value;
};
constexpr std::array count_changes{
    CountChange{{0, 0}, &TuningConstants::operations_per_batch, 9},
    CountChange{{0, 0}, &TuningConstants::most_channels, 32},
    CountChange{{22, 0}, &TuningConstants::operations_per_batch, 8},
    CountChange{{25, 0}, &TuningConstants::most_channels, 64},
};

struct RuleChange {
  NcclVersion since;
  bool TuningRules::* rule;
  bool value = true;
};
using Rules = TuningRules;
constexpr std::array rule_changes{
    RuleChange{{14, 0}, &Rules::rings_of_nodes_wrap},
    RuleChange{{18, 0}, &Rules::tree_chunks_by_depth},
    RuleChange{{18, 0}, &Rules::ring_kept_for_others},
    RuleChange{{18, 0}, &Rules::small_buffers_on_arm},
    RuleChange{{19, 0}, &Rules::small_buffers_on_arm, false},
    RuleChange{{19, 0}, &Rules::ring_kept_for_others, false},
    RuleChange{{19, 0}, &Rules::ring_fallback},
    RuleChange{{19, 0}, &Rules::nvls_by_step},
    RuleChange{{19, 0}, &Rules::nvls_by_slower_side},
    RuleChange{{19, 0}, &Rules::nvls_gathers},
    RuleChange{{20, 0}, &Rules::collnet_gathers},
    RuleChange{{20, 0}, &Rules::tree_chunks_by_depth, false},
    RuleChange{{19, 0}, &Rules::nvls_small_chunks_when_slow},
    RuleChange{{20, 0}, &Rules::nvls_tree_chunk_limit},
    RuleChange{{20, 0}, &Rules::channels_doubled_below_16},
    RuleChange{{20, 0}, &Rules::chunks_counted_in_data},
    RuleChange{{21, 0}, &Rules::single_ll_share},
    RuleChange{{21, 0}, &Rules::nvls_across_hosts},
    RuleChange{{22, 0}, &Rules::ring_fallback_by_protocol},
    RuleChange{{22, 0}, &Rules::small_trees_uncorrected},
    RuleChange{{22, 0}, &Rules::cell_scheduler},
    RuleChange{{22, 0}, &Rules::chunks_of_whole_grains},
    RuleChange{{22, 0}, &Rules::tree_takes_all_threads},
    RuleChange{{23, 0}, &Rules::rings_of_nodes_wrap, false},
    RuleChange{{23, 0}, &Rules::alone_hops_by_tree},
    RuleChange{{23, 0}, &Rules::single_ll128_share},
    RuleChange{{23, 0}, &Rules::pat},
    RuleChange{{23, 0}, &Rules::collnet_direct_limited},
    RuleChange{{23, 0}, &Rules::gathers_are_algorithm_bandwidth},
    RuleChange{{24, 0}, &Rules::lists_by_collective},
    RuleChange{{24, 0}, &Rules::mixed_cpus_are_amd},
    RuleChange{{24, 0}, &Rules::ring_fallback, false},
    RuleChange{{24, 0}, &Rules::fp8_avoids_rings},
    RuleChange{{25, 0}, &Rules::blackwell_rows},
    RuleChange{{25, 0}, &Rules::ll128_on_blackwell},
    RuleChange{{25, 0}, &Rules::channels_doubled_from_hopper},
    RuleChange{{25, 0}, &Rules::nvls_channels_by_generation},
    RuleChange{{26, 0}, &Rules::worst_tree_pattern},
    RuleChange{{26, 0}, &Rules::pat_needs_atomics},
    RuleChange{{27, 0}, &Rules::nvls_gather_share},
    RuleChange{{27, 0}, &Rules::nvls_gather_needs_collnet},
    RuleChange{{27, 0}, &Rules::collnet_gather_by_slower_side},
    RuleChange{{27, 0}, &Rules::ll128_on_all},
    RuleChange{{27, 0}, &Rules::nvls_fewer_channels_on_one_node},
    RuleChange{{27, 5}, &Rules::ll128_c2c},
    RuleChange{{28, 0}, &Rules::nvls_by_efficiency},
    RuleChange{{28, 0}, &Rules::nvls_within_collective_channels},
    RuleChange{{28, 0}, &Rules::collnet_chain_limited},
    RuleChange{{29, 0}, &Rules::nvls_tree_size_factor},
    RuleChange{{30, 0}, &Rules::ll128_mixed_gpus},
    RuleChange{{30, 0}, &Rules::nvls_tree_tuned_for_nics},
};

constexpr std::array<std::array<double, 24>, 3> tree_size_factors{{
    {1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1, 1},
    {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1, 1},
    {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5,
     .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9, .9},
}};

}  // namespace

Generation TuningConstants::generation(int compute_capability) const {
  if (compute_capability >= 100 && rules.blackwell_rows) return blackwell;
  if (compute_capability >= 90) return hopper;
  return compute_capability >= 80 ? ampere : volta;
}

TuningConstants tuning_constants(NcclVersion version) {
  TuningConstants constants;
  const auto applied = [&](const auto& change) { return change.since <= version; };
  for (const auto& change : base_changes) {
    if (applied(change)) constants.base_us[change.algorithm].values = change.us;
  }
  for (const auto& change : hop_changes) {
    if (!applied(change)) continue;
    constants.hop_us[static_cast<std::size_t>(change.kind)][change.algorithm].values = change.us;
  }
  for (const auto& change : ceiling_changes) {
    if (!applied(change)) continue;
    constants.gbps[static_cast<std::size_t>(change.ceiling)]
                  [static_cast<std::size_t>(change.generation)] = change.gbps;
  }
  for (const auto& change : number_changes) {
    if (applied(change)) constants.*change.number = change.value;
  }
  for (const auto& change : count_changes) {
    if (applied(change)) constants.*change.count = change.value;
  }
  for (const auto& change : rule_changes) {
    if (applied(change)) constants.rules.*change.rule = change.value;
  }
  return constants;
}

double nvls_efficiency(Generation generation) {
  if (generation == blackwell) return 0.74;
  return generation == hopper ? 0.85 : 0;
}

double tree_size_factor(Protocol protocol, int step) {
  const auto& factors = tree_size_factors[static_cast<std::size_t>(protocol)];
  if (step < 0 || step >= static_cast<int>(factors.size())) return 1;
  return factors[static_cast<std::size_t>(step)];
}

}  // namespace shardsim::nccl

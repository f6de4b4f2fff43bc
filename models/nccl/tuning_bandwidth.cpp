#include <algorithm>

#include "models/nccl/tuning_model.hpp"

namespace shardsim::nccl {

using enum Algorithm;
using enum Collective;

namespace {

/// One cell's inputs, for short.
struct Case {
  const TuningInputs& inputs;
  const TuningConstants& constants;
  Collective collective;
  Algorithm algorithm;
  Protocol protocol;

  const CommunicatorFacts& facts() const { return inputs.communicator; }
  const TuningRules& rules() const { return constants.rules; }
  const GraphSummary& graph() const { return graph_of(inputs, algorithm); }
  double ranks_per_node() const { return static_cast<double>(facts().ranks) / facts().nodes; }
  bool gathers() const { return has_part_per_rank(collective); }
  double ceiling(Ceiling which) const {
    return constants.ceiling(which, constants.generation(facts().least_compute_capability),
                             facts().nodes);
  }
};

/// Between nodes the limit goes by the CPU, not by the GPU.
double ll_limit(const Case& c) {
  if (c.facts().nodes == 1) return c.ceiling(Ceiling::ll);
  const CpuVendor vendor = c.facts().cpu_vendor;
  const bool amd =
      vendor == CpuVendor::amd || (vendor == CpuVendor::mixed && c.rules().mixed_cpus_are_amd);
  return c.constants.ceiling(Ceiling::ll, amd ? Generation::ampere : Generation::volta,
                             c.facts().nodes);
}

double nvls_channel_by_efficiency(const Case& c) {
  const GraphSummary& graph = c.graph();
  const Generation generation = c.constants.generation(c.facts().least_compute_capability);
  double inside =
      graph.bw_intra_gbps * nvls_efficiency(generation) * (graph.channels - 1) / graph.channels;
  inside *= c.collective == all_reduce ? 2 : (c.ranks_per_node() - 1) / c.ranks_per_node();
  const bool pair = c.facts().nodes <= 2 && c.algorithm == nvls_tree;
  const double slower = std::min(inside, graph.bw_inter_gbps * (pair ? 2 : 1));
  return c.algorithm == nvls_tree ? std::min(slower, c.ceiling(Ceiling::nvls_trees)) : slower;
}

double channel_bandwidth(const Case& c) {
  const GraphSummary& graph = c.graph();
  const double inside = graph.bw_intra_gbps;
  const double between = graph.bw_inter_gbps;
  if (is_nvls(c.algorithm) && c.rules().nvls_by_efficiency) return nvls_channel_by_efficiency(c);
  if (is_nvls(c.algorithm) && c.rules().nvls_by_slower_side) {
    if (c.algorithm == nvls_tree) {
      return std::min(inside, c.facts().nodes <= 2 ? between : between / 2);
    }
    if (c.collective == all_reduce || !c.rules().nvls_gather_share) {
      return std::min(inside, between);
    }
    return std::min(inside * (c.ranks_per_node() - 1) / c.ranks_per_node(), between * 0.9);
  }
  return c.facts().nodes <= 2 || is_collnet(c.algorithm) ? inside : between;
}

double ring_bandwidth(const Case& c, double bus) {
  if (c.protocol == Protocol::ll) {
    const bool quarter =
        c.facts().nodes > 1 || c.collective == all_reduce || c.collective == reduce;
    const double share = c.rules().single_ll_share ? 1.0 / 2 : quarter ? 1.0 / 4 : 1.0 / 3;
    return std::min(ll_limit(c), bus * share);
  }
  if (c.protocol == Protocol::ll128) {
    const bool alone = c.ranks_per_node() < 2 && !c.rules().single_ll128_share;
    return std::min(bus * (alone ? 0.7 : 0.92),
                    c.graph().channels * c.ceiling(Ceiling::ring_ll128));
  }
  return bus;
}

double tree_bandwidth(const Case& c, double bus) {
  const int channels = c.graph().channels;
  bus = std::min(bus * 0.92, channels * c.ceiling(Ceiling::trees));
  if (c.protocol == Protocol::ll) bus = std::min(bus / 3.8, ll_limit(c));
  if (c.protocol == Protocol::ll128) {
    const double share = c.facts().nodes == 1 ? 7.0 / 9 : 120.0 / 128;
    bus = std::min(bus * share, channels * c.ceiling(Ceiling::tree_ll128));
  }
  const bool of_all = c.rules().worst_tree_pattern && c.inputs.worst_tree_pattern > 0;
  const int pattern = of_all ? c.inputs.worst_tree_pattern : c.graph().pattern;
  return pattern == 3 ? bus * 0.85 : bus;
}

/// All-gather and reduce-scatter over the network's switches need a NIC for each GPU.
bool collnet_can_gather(const Case& c) {
  const CollNetFacts& collnet = c.facts().collnet;
  const bool offered = c.collective == all_gather ? collnet.gathers : collnet.scatters;
  return offered && c.facts().most_local_ranks <= collnet.heads;
}

double collnet_direct_bandwidth(const Case& c, double bus) {
  const double local = c.ranks_per_node();
  const GraphSummary& graph = c.graph();
  if (!c.gathers() || !c.rules().collnet_gathers) {
    // As many GPUs as NICs get the full bandwidth.
    double crowding = local / graph.channels;
    crowding -= (crowding - 1) / 2;
    return bus / crowding * (c.facts().least_compute_capability >= 90 ? 0.85 : 1);
  }
  if (c.rules().collnet_gather_by_slower_side) {
    return local * std::min(graph.bw_intra_gbps, graph.bw_inter_gbps * 0.9);
  }
  if (c.facts().nodes > 1 && !collnet_can_gather(c)) return 0;
  const double weight = (local - 1) / (8 - 1);
  return local * graph.bw_intra_gbps * (weight * 0.85 + (1 - weight) * 0.95);
}

double bus_bandwidth(const Case& c) {
  double bus = c.graph().channels * channel_bandwidth(c);
  switch (c.algorithm) {
    case ring:
      return ring_bandwidth(c, bus);
    case tree:
      return tree_bandwidth(c, bus);
    case pat:
      return bus * c.constants.pat_share;
    case collnet_chain:
      return c.protocol == Protocol::simple ? bus : 0;
    case collnet_direct:
      bus = c.protocol == Protocol::simple ? collnet_direct_bandwidth(c, bus) : 0;
      break;
    case nvls:
    case nvls_tree:
      break;
  }
  if (c.gathers() && c.facts().nodes > 1 && c.rules().nvls_gather_needs_collnet &&
      !(c.facts().collnet.offered && collnet_can_gather(c))) {
    return 0;
  }
  return bus;
}

/// What turns bandwidth of the links into bandwidth of the operation.
double operation_share(const Case& c) {
  const int ranks = c.facts().ranks;
  const int steps = c.collective == all_reduce ? 2 * (ranks - 1) : c.gathers() ? ranks - 1 : ranks;
  const double ring_share = static_cast<double>(ranks) / steps;
  if (c.algorithm == ring) return ring_share;
  if (c.gathers()) {
    if (c.rules().gathers_are_algorithm_bandwidth) return 1;
    if (c.algorithm == collnet_direct && c.rules().collnet_gathers) return 1;
  }
  if (!is_nvls(c.algorithm)) return 0.5;
  if (c.rules().nvls_by_efficiency) return ring_share;
  if (c.algorithm == nvls_tree && !c.rules().nvls_by_step) {
    const int nodes = c.facts().nodes;
    return nodes > 1 ? 0.70 * nodes / (2 * (nodes - 1)) : 0;
  }
  return 5.0 / 6;
}

}  // namespace

double tuning_bandwidth_gbps(const TuningInputs& inputs, const TuningConstants& constants,
                             Collective collective, Algorithm algorithm, Protocol protocol) {
  const Case c{inputs, constants, collective, algorithm, protocol};
  return c.graph().channels == 0 ? 0 : bus_bandwidth(c) * operation_share(c);
}

}  // namespace shardsim::nccl

#include <algorithm>

#include "models/nccl/tuning_model.hpp"

namespace shardsim::nccl {

using enum Algorithm;
using enum Collective;

namespace {

/// The CPU's cost of posting a step to the network.
double network_overhead_us(const CommunicatorFacts& facts, const Environment& environment) {
  if (environment.net_overhead_ns) return static_cast<double>(*environment.net_overhead_ns) * 0.001;
  const bool amd =
      facts.cpu_architecture == CpuArchitecture::x86 && facts.cpu_vendor == CpuVendor::amd;
  return amd ? 2.0 : 1.0;
}

class Latency {
 public:
  Latency(const TuningInputs& inputs, const TuningConstants& constants,
          const Environment& environment, Collective collective, Algorithm algorithm,
          Protocol protocol)
      : facts_(inputs.communicator),
        graph_(graph_of(inputs, algorithm)),
        constants_(constants),
        environment_(environment),
        collective_(collective),
        algorithm_(algorithm),
        protocol_(protocol) {}

  double us() const {
    const double base = constants_.base_us[algorithm_][protocol_];
    const int local = facts_.ranks / facts_.nodes;
    const int depth = floor_log2(facts_.nodes);
    switch (algorithm_) {
      case ring:
        return base + (has_part_per_rank(collective_) || collective_ == all_reduce ? ring_of_parts()
                                                                                   : pipeline());
      case tree:
        return base + 2 * ((local - 1) * inside() + depth * between());
      case collnet_direct:
        return base + 2 * (std::min(1, local - 1) * inside() + (local - 1) * constants_.arity_us) +
               between();
      case collnet_chain:
        return base + 2 * (local - 1) * inside() + between();
      case nvls:
        return multicast(base);
      case nvls_tree:
        return constants_.rules.nvls_by_step
                   ? base + inside() + 2 * depth * between()
                   : base + 2 * (facts_.nodes - 1) * hop(HopKind::network, nvls_tree);
      case pat:
        return base + depth * (between() / 3.5) + facts_.ranks * 2.8;
    }
    return base;
  }

 private:
  double hop(HopKind kind, Algorithm of) const {
    // On POWER trees are not made to look worse than rings.
    const bool power = facts_.cpu_architecture == CpuArchitecture::power;
    if (power && kind == HopKind::pcie && of == tree && protocol_ == Protocol::simple) of = ring;
    return constants_.hop(kind, of, protocol_);
  }

  HopKind inside_kind() const {
    return graph_.type_intra == PathType::nvl ? HopKind::nvlink : HopKind::pcie;
  }

  double inside() const {
    const bool slowed = facts_.nodes > 1 && protocol_ == Protocol::ll;
    return hop(inside_kind(), algorithm_) * (slowed ? constants_.ll_hop_factor : 1);
  }

  double between() const {
    const bool alone = facts_.ranks == facts_.nodes && constants_.rules.alone_hops_by_tree;
    // Simple waits once more: for the flush.
    return hop(HopKind::network, alone ? tree : algorithm_) +
           graph_.latency_inter_us * (protocol_ == Protocol::simple ? 2 : 1);
  }

  /// All-reduce, all-gather, reduce-scatter.
  double ring_of_parts() const {
    const int rounds = collective_ == all_reduce ? 2 : 1;
    const int steps = rounds * (facts_.ranks - 1);
    int outside = rounds * (facts_.nodes - 1);
    double step = inside();
    if (facts_.nodes > 1) {
      if (collective_ == all_reduce && constants_.rules.rings_of_nodes_wrap) {
        outside = 2 * facts_.nodes;
      }
      const int posts = protocol_ == Protocol::simple ? 3 : 1;
      step = std::max(step, network_overhead_us(facts_, environment_) * posts);
    }
    return (steps - outside) * step + outside * between();
  }

  /// Broadcast and reduce.
  double pipeline() const {
    const HopKind kind = facts_.nodes == 1 ? inside_kind() : HopKind::network;
    if (graph_.same_channels) return hop(kind, ring);
    return facts_.ranks * hop(kind, protocol_ == Protocol::simple ? tree : ring);
  }

  double multicast(double base) const {
    if (constants_.rules.nvls_by_step) return inside() + (facts_.nodes > 1 ? between() : 0);
    return base + (facts_.nodes > 1 ? hop(HopKind::network, nvls) : 0);
  }

  const CommunicatorFacts& facts_;
  const GraphSummary& graph_;
  const TuningConstants& constants_;
  const Environment& environment_;
  Collective collective_;
  Algorithm algorithm_;
  Protocol protocol_;
};

}  // namespace

double tuning_latency_us(const TuningInputs& inputs, const TuningConstants& constants,
                         const Environment& environment, Collective collective, Algorithm algorithm,
                         Protocol protocol) {
  return Latency(inputs, constants, environment, collective, algorithm, protocol).us();
}

}  // namespace shardsim::nccl

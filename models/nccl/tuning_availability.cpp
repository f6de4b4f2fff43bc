#include <algorithm>
#include <array>

#include "models/nccl/tuning_model.hpp"

namespace shardsim::nccl {

using enum Algorithm;
using enum Collective;

namespace {

bool machine_has(const TuningInputs& inputs, const TuningRules& rules, Algorithm algorithm) {
  const CommunicatorFacts& facts = inputs.communicator;
  const bool several = facts.nodes > 1;
  const bool hidden = facts.domain_spans_hosts && !rules.nvls_across_hosts;
  switch (algorithm) {
    case nvls_tree:
      return several && !hidden;
    case nvls:
      return !(several || hidden) || facts.collnet.offered;
    case collnet_direct:
      return facts.collnet.offered && facts.nvswitch;
    case collnet_chain:
      return facts.collnet.offered && facts.collnet.chain_supported;
    case tree:
    case ring:
    case pat:
      break;
  }
  return true;
}

bool ll128_known_for(int compute_capability, const TuningRules& rules) {
  if (rules.ll128_on_all) return compute_capability >= 70;
  constexpr std::array known{70, 80, 90};
  constexpr std::array later{100, 120};
  return std::ranges::find(known, compute_capability) != known.end() ||
         (rules.ll128_on_blackwell && std::ranges::find(later, compute_capability) != later.end());
}

/// LL128 needs stores of 128 bytes to arrive whole.
bool ll128_is_safe(const TuningInputs& inputs, const TuningRules& rules,
                   const Environment& environment, Collective collective, Algorithm algorithm) {
  const CommunicatorFacts& facts = inputs.communicator;
  const GraphSummary& graph = graph_of(inputs, algorithm);
  const int least = facts.least_compute_capability;
  const bool through_peers =
      least >= 90 && (!rules.ll128_c2c || environment.ll128_c2c.value_or(1) != 0);
  if (graph.type_inter > (through_peers ? PathType::pxn : PathType::pxb)) return false;
  if (graph.type_intra > PathType::nvb) return false;
  const bool alike = least == facts.most_compute_capability;
  if (!alike && !(rules.ll128_mixed_gpus && least >= 90)) return false;
  const bool cuda_bug = least == 90 && facts.cuda_11_8 && collective == all_reduce &&
                        algorithm == ring && facts.ranks == 2;
  return ll128_known_for(least, rules) && !cuda_bug;
}

}  // namespace

bool algorithm_enabled(const TuningInputs& inputs, const TuningConstants& constants,
                       const Environment& environment, Collective collective, Algorithm algorithm) {
  const TuningRules& rules = constants.rules;
  if (!machine_has(inputs, rules, algorithm)) return false;
  if (rules.ring_kept_for_others && algorithm == ring && collective != all_reduce) return true;
  return environment.permissions.algorithms[collective][algorithm] != Permission::refused;
}

bool protocol_enabled(const TuningInputs& inputs, const TuningConstants& constants,
                      const Environment& environment, Collective collective, Algorithm algorithm,
                      Protocol protocol) {
  switch (environment.permissions.protocols[collective][protocol]) {
    case Permission::refused:
      return false;
    case Permission::allowed:
      return true;
    case Permission::where_safe:
      break;
  }
  return ll128_is_safe(inputs, constants.rules, environment, collective, algorithm);
}

}  // namespace shardsim::nccl

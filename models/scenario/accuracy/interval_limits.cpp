#include "models/scenario/accuracy/interval_limits.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardsim::scenario {

namespace {

void add_share(std::vector<std::string>& limits, const char* what, double share, double most) {
  if (share < most + worth_saying_share) return;
  limits.push_back(fmt::format("{:.0f} % of the step {} (at most {:.1f} % in a published run)",
                               share * 100, what, most * 100));
}

bool is_usual(network::FabricKind kind) {
  return kind == network::FabricKind::none || kind == network::FabricKind::single_switch ||
         kind == network::FabricKind::rail_optimised || kind == network::FabricKind::rail_only ||
         kind == network::FabricKind::fat_tree;
}

}  // namespace

double fabric_taper(const network::FabricSpec& fabric, int nodes) {
  double taper = 1;
  if (!network::has_leaves(fabric.kind)) return taper;
  if (nodes > fabric.nodes_per_leaf) taper = std::max(taper, fabric.oversubscription);
  if (fabric.pods && nodes > fabric.pods->nodes) {
    taper = std::max(taper, fabric.pods->oversubscription);
  }
  return taper;
}

std::vector<std::string> interval_limits(const RunFacts& run, const ResidualTable& table) {
  std::vector<std::string> limits;
  if (table.rows.empty()) return limits;
  double exposed = 0;
  double cpu = 0;
  for (const Residual& row : table.rows) {
    exposed = std::max(exposed, row.run.exposed_share);
    cpu = std::max(cpu, row.run.cpu_share);
  }
  add_share(limits, "waiting for communication", run.exposed_share, exposed);
  add_share(limits, "waiting for the CPU", run.cpu_share, cpu);
  return limits;
}

std::vector<std::string> interval_limits(const Experiment& experiment) {
  std::vector<std::string> limits;
  const network::FabricSpec& fabric = experiment.topology.spec.fabric;
  const double taper = fabric_taper(fabric, experiment.nodes);
  if (taper > 1) limits.push_back(fmt::format("a fabric tapered {:g}:1", taper));
  if (experiment.nodes > 1 && !is_usual(fabric.kind)) {
    limits.push_back(fmt::format("a fabric of kind {}", simcore::print_value(fabric.kind)));
  }
  if (!experiment.scenario.spec.perturb.empty()) limits.emplace_back("perturbations");
  if (!experiment.others.empty()) limits.emplace_back("other jobs and traffic on the cluster");
  return limits;
}

std::string interval_warning(const Experiment& experiment, const Result& result,
                             const ResidualTable& table) {
  if (!result.interval) return {};
  std::vector<std::string> limits = interval_limits(facts_of(experiment, result.step), table);
  for (std::string& one : interval_limits(experiment)) {
    limits.push_back(one + " (no published run has any)");
  }
  if (limits.empty()) return {};
  return fmt::format("the 90 % interval does not cover {}", fmt::join(limits, "; nor "));
}

}  // namespace shardsim::scenario

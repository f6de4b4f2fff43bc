#include "models/scenario/scenario_spec.hpp"

#include "simcore/config/override.hpp"

namespace shardsim::scenario {

using simcore::Fields;

void ClusterSpec::describe(Fields<ClusterSpec>& fields) {
  fields
      .required("topology", &ClusterSpec::topology,
                "The kind of node and the fabric between nodes: the name of a file in "
                "`topologies/`, or a path.")
      .example("dgx-h100");
  fields.optional("nodes", &ClusterSpec::nodes, "Number of nodes.").range(1, 1'000'000);
  fields
      .optional("gpus_per_node", &ClusterSpec::gpus_per_node,
                "GPUs used in each node; all of them if left out.")
      .range(1, 1024);
  fields.optional("routing", &ClusterSpec::routing,
                  "Which of several equally short ways data takes, instead of what the topology's "
                  "`fabric.routing` says.");
}

void NcclSpec::describe(Fields<NcclSpec>& fields) {
  fields.optional("version", &NcclSpec::version, "NCCL's version.").example("2.27.7");
  fields.optional("env", &NcclSpec::env, "NCCL's environment variables.");
}

void PerturbationSpec::describe(Fields<PerturbationSpec>& fields) {
  fields.optional("rank", &PerturbationSpec::rank, "The rank that deviates.")
      .range(0, 1'000'000'000);
  fields
      .optional("compute_slowdown", &PerturbationSpec::compute_slowdown,
                "Factor on the time of every kernel of the rank; 1.3 is 30 % slower.")
      .range(0.01, 1000.0);
  fields
      .optional("link", &PerturbationSpec::link,
                "A device whose links all change, or a single link `FROM->TO`.")
      .example("\"node[2].nic[0]\"");
  fields
      .optional("bandwidth", &PerturbationSpec::bandwidth,
                "Bandwidth left on the link, as a share of what it has.")
      .range(simcore::Fraction{0}, simcore::Fraction{100});
}

void PerturbationSpec::check(const PerturbationSpec& spec, const simcore::ConfigNode& node,
                             simcore::Diagnostics& diagnostics) {
  const bool slow_rank = spec.rank && spec.compute_slowdown && !spec.link && !spec.bandwidth;
  const bool slow_link = spec.link && spec.bandwidth && !spec.rank && !spec.compute_slowdown;
  if (slow_rank || slow_link) return;
  diagnostics.error(node.where(),
                    "expected either 'rank' with 'compute_slowdown', or 'link' with 'bandwidth'");
}

void StepsSpec::describe(Fields<StepsSpec>& fields) {
  fields
      .optional("warmup", &StepsSpec::warmup,
                "Steps before the measured ones. The first step differs from the others: the "
                "optimizer has no state yet, and rate limiters and buckets settle.")
      .range(0, 1000);
  fields.optional("measure", &StepsSpec::measure, "Steps that are measured.").range(1, 1000);
}

void ScenarioSpec::describe(Fields<ScenarioSpec>& fields) {
  fields.required("name", &ScenarioSpec::name, "What people call it.");
  fields.optional("description", &ScenarioSpec::description, "What it shows.");
  fields.required("cluster", &ScenarioSpec::cluster, "The machines.");
  fields.required("workload", &ScenarioSpec::workload, "What is trained, and on what batch.");
  fields.optional("training", &ScenarioSpec::training, "How it is sharded, reduced and updated.");
  fields.optional("cpu", &ScenarioSpec::cpu, "What the CPU thread of a rank costs.");
  fields.optional("allocator", &ScenarioSpec::allocator,
                  "Options of the caching allocator (PYTORCH_CUDA_ALLOC_CONF).");
  fields.optional("nccl", &ScenarioSpec::nccl, "NCCL's version and environment.");
  fields.optional("perturb", &ScenarioSpec::perturb, "Deviations from the ideal cluster.");
  fields.optional("steps", &ScenarioSpec::steps, "How many steps are simulated.");
  fields.optional("fidelity", &ScenarioSpec::fidelity, "How collectives are simulated.");
  fields.optional("quiz", &ScenarioSpec::quiz, "Quiz questions that this scenario answers.");
}

void ScenarioSpec::check(const ScenarioSpec& spec, const simcore::ConfigNode& node,
                         simcore::Diagnostics& diagnostics) {
  if (spec.name.empty()) {
    diagnostics.error(node.where_value("name"), "expected a name, found nothing");
  }
}

simcore::SourceLocation LoadedScenario::where(std::string_view dotted_key) const {
  const simcore::ConfigNode* node = &root;
  while (!dotted_key.empty()) {
    const std::size_t dot = dotted_key.find('.');
    const std::string_view key = dotted_key.substr(0, dot);
    const simcore::ConfigNode* child = node->find(key);
    if (child == nullptr) break;
    node = child;
    dotted_key = dot == std::string_view::npos ? std::string_view{} : dotted_key.substr(dot + 1);
  }
  return node->where();
}

std::optional<LoadedScenario> load_scenario(const std::filesystem::path& file,
                                            const std::vector<std::string>& overrides,
                                            simcore::Diagnostics& diagnostics) {
  std::optional<simcore::ConfigNode> root = simcore::read_yaml_file(file, diagnostics);
  if (!root) return std::nullopt;
  for (const std::string& text : overrides) {
    simcore::apply_override(*root, text, diagnostics);
  }
  if (diagnostics.has_errors()) return std::nullopt;
  auto spec = simcore::read_config<ScenarioSpec>(*root, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return LoadedScenario{std::move(spec), std::move(*root), file, overrides};
}

std::optional<LoadedScenario> with_override(const LoadedScenario& scenario,
                                            const std::string& override_text,
                                            simcore::Diagnostics& diagnostics) {
  LoadedScenario changed = scenario;
  changed.overrides.push_back(override_text);
  if (!simcore::apply_override(changed.root, override_text, diagnostics)) return std::nullopt;
  changed.spec = simcore::read_config<ScenarioSpec>(changed.root, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return changed;
}

}  // namespace shardsim::scenario

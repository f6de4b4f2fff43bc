#include "models/scenario/scenario_spec.hpp"

#include <set>
#include <string_view>

#include <fmt/format.h>

#include "models/scenario/well_known_names.hpp"
#include "models/training/keys_without_effect.hpp"
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
  fields
      .optional("gpu_speed_spread", &ClusterSpec::gpu_speed_spread,
                "Standard deviation of the rate at which GPUs of one kind compute, between GPUs. "
                "A job's kernels run at the pace that its slowest GPU is expected to have: "
                "matrix products and attention of N GPUs take 1 + spread x E times as long, E the "
                "mean of the largest of N standard normal draws. By default 1.75 %: a range of 5 % "
                "among 8 GPUs (ml-engineering, accelerators). `jitter: {gpu: ...}` draws speeds "
                "instead.")
      .range(simcore::Fraction{0}, simcore::Fraction{0.25});
}

void NcclSpec::describe(Fields<NcclSpec>& fields) {
  fields.optional("version", &NcclSpec::version, "NCCL's version.").example("2.27.7");
  fields.optional("env", &NcclSpec::env, "NCCL's environment variables.");
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
  fields.optional(
      "jobs", &ScenarioSpec::jobs,
      "Other training jobs on the same cluster. The scenario's own takes the nodes that "
      "are left.");
  fields.optional("background", &ScenarioSpec::background,
                  "Traffic that shares the cluster's links with the jobs.");
  fields.optional("steps", &ScenarioSpec::steps, "How many steps are simulated.");
  fields.optional(
      "fidelity", &ScenarioSpec::fidelity,
      "How collectives are simulated: NCCL's own expectation, its data path as a flow, or message "
      "by message.");
  fields.optional("quiz", &ScenarioSpec::quiz, "Quiz questions that this scenario answers.");
  fields.optional("sweep", &ScenarioSpec::sweep,
                  "Axes that `shardsim sweep` crosses: each a map from keys of the scenario to "
                  "their values, a list or a range such as `1..64*2`; keys of one map go together. "
                  "`shardsim run` takes no notice of it.");
}

namespace {

/// Prescribed times are those of any GPU; only ZeRO's buckets are allocated beside them.
void warn_beside_explicit_times(const ScenarioSpec& spec, const simcore::ConfigNode& node,
                                simcore::Diagnostics& diagnostics) {
  const simcore::ConfigNode* cluster = node.find("cluster");
  if (cluster != nullptr && cluster->has("gpu_speed_spread")) {
    diagnostics.warning(cluster->where_key("gpu_speed_spread"),
                        "cluster.gpu_speed_spread has no effect beside explicit times");
  }
  const bool alone = spec.jobs.empty() && spec.background.empty();
  for (const char* key : {"nccl", "fidelity"}) {
    if (!alone || !node.has(key)) continue;
    diagnostics.warning(node.where_key(key),
                        fmt::format("{} has no effect beside explicit times", key));
  }
  for (std::size_t i = 0; alone && i < spec.perturb.size(); ++i) {
    if (!spec.perturb[i].link) continue;
    diagnostics.warning(node.find("perturb")->items()[i].where(),
                        "a link has no effect beside explicit times, in which collectives move "
                        "no data");
  }
  if (node.has("allocator") && !spec.training.is_zero()) {
    diagnostics.warning(node.where_key("allocator"),
                        "allocator has no effect beside explicit times, unless ZeRO's buckets are "
                        "allocated");
  }
}

/// Results tell jobs apart by their names.
void check_job_names(const std::vector<JobSpec>& jobs, const simcore::ConfigNode& node,
                     simcore::Diagnostics& diagnostics) {
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < jobs.size() && i < node.items().size(); ++i) {
    if (seen.insert(jobs[i].name).second) continue;
    diagnostics.error(node.items()[i].where_value("name"),
                      fmt::format("jobs: a second job is called '{}'", jobs[i].name));
  }
}

/// A topology may inherit its seed and change the policy; a scenario writes both.
void check_seed(const network::RoutingSpec& routing, const simcore::ConfigNode& node,
                simcore::Diagnostics& diagnostics) {
  if (!node.has("seed") || routing.policy == network::RoutingPolicy::ecmp) return;
  diagnostics.warning(node.where_key("seed"),
                      "cluster.routing.seed has no effect unless policy is ecmp");
}

}  // namespace

void ScenarioSpec::check(const ScenarioSpec& spec, const simcore::ConfigNode& node,
                         simcore::Diagnostics& diagnostics) {
  if (spec.name.empty()) {
    diagnostics.error(node.where_value("name"), "expected a name, found nothing");
  }
  const simcore::ConfigNode* cluster = node.find("cluster");
  if (const simcore::ConfigNode* routing = cluster == nullptr ? nullptr : cluster->find("routing");
      routing != nullptr && spec.cluster.routing) {
    check_seed(*spec.cluster.routing, *routing, diagnostics);
  }
  if (const simcore::ConfigNode* jobs = node.find("jobs")) {
    check_job_names(spec.jobs, *jobs, diagnostics);
  }
  training::warn_of_keys_without_effect(spec.workload, spec.training, node, diagnostics);
  if (spec.workload.explicit_times) warn_beside_explicit_times(spec, node, diagnostics);
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
  translate_well_known_names(*root, diagnostics);
  auto spec = simcore::read_config<ScenarioSpec>(*root, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return LoadedScenario{std::move(spec), std::move(*root), file, overrides};
}

std::optional<LoadedScenario> with_overrides(const LoadedScenario& scenario,
                                             const std::vector<std::string>& overrides,
                                             simcore::Diagnostics& diagnostics,
                                             std::string_view option) {
  LoadedScenario changed = scenario;
  bool good = true;
  for (const std::string& text : overrides) {
    changed.overrides.push_back(text);
    good &= simcore::apply_override(changed.root, text, diagnostics, option);
  }
  if (!good) return std::nullopt;
  translate_well_known_names(changed.root, diagnostics);
  changed.spec = simcore::read_config<ScenarioSpec>(changed.root, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  return changed;
}

std::optional<LoadedScenario> with_override(const LoadedScenario& scenario,
                                            const std::string& override_text,
                                            simcore::Diagnostics& diagnostics) {
  return with_overrides(scenario, {override_text}, diagnostics);
}

}  // namespace shardsim::scenario

// A scenario as a user writes it: one experiment, complete.
//
// The sections belong to the rooms that use them; this file holds the whole and the sections that
// belong to no other room.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cuda/allocator_spec.hpp"
#include "models/network/routing_spec.hpp"
#include "models/scenario/job_spec.hpp"
#include "models/scenario/perturbation_spec.hpp"
#include "models/scenario/sweep/sweep_axis.hpp"
#include "models/training/cpu_spec.hpp"
#include "models/training/training_spec.hpp"
#include "models/training/workload_spec.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

/// How collectives are simulated.
enum class Fidelity : std::uint8_t {
  model,  ///< NCCL's own expectation
  flow,   ///< the data path in closed form, data as a flow on the links
  chunk,  ///< the data path message by message
};

struct ClusterSpec {
  std::string topology;
  std::int64_t nodes = 1;
  std::optional<std::int64_t> gpus_per_node;
  std::optional<network::RoutingSpec> routing;  ///< instead of the topology's
  simcore::Fraction gpu_speed_spread{0.0175};
  static void describe(simcore::Fields<ClusterSpec>& fields);
};

struct NcclSpec {
  std::string version = "2.27.7";
  std::map<std::string, std::string> env;
  static void describe(simcore::Fields<NcclSpec>& fields);
};

struct StepsSpec {
  std::int64_t warmup = 2;
  std::int64_t measure = 1;
  static void describe(simcore::Fields<StepsSpec>& fields);
};

struct ScenarioSpec {
  std::string name;
  std::string description;
  ClusterSpec cluster;
  training::WorkloadSpec workload;
  training::TrainingSpec training;
  training::CpuSpec cpu;
  cuda::AllocatorSpec allocator;
  NcclSpec nccl;
  std::vector<PerturbationSpec> perturb;
  std::vector<JobSpec> jobs;
  std::vector<BackgroundSpec> background;
  StepsSpec steps;
  Fidelity fidelity = Fidelity::flow;
  std::vector<std::string> quiz;
  std::vector<SweepAxis> sweep;

  static void describe(simcore::Fields<ScenarioSpec>& fields);
  static void check(const ScenarioSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

/// A scenario with the tree it was read from, so that later findings can point into the file.
struct LoadedScenario {
  ScenarioSpec spec;
  simcore::ConfigNode root;
  std::filesystem::path file;
  std::vector<std::string> overrides;

  /// Where the value of a dotted key stands; the whole document if it was left out.
  simcore::SourceLocation where(std::string_view dotted_key) const;
};

/// Reads `file`, applies `overrides` ("a.b=VALUE") in order and checks everything that can be
/// checked without the cluster. Nothing if `diagnostics` received an error.
std::optional<LoadedScenario> load_scenario(const std::filesystem::path& file,
                                            const std::vector<std::string>& overrides,
                                            simcore::Diagnostics& diagnostics);

/// `scenario` with further overrides, without reading its file again; messages name them as given
/// with `option`.
std::optional<LoadedScenario> with_overrides(const LoadedScenario& scenario,
                                             const std::vector<std::string>& overrides,
                                             simcore::Diagnostics& diagnostics,
                                             std::string_view option = "--set");
/// The same with one.
std::optional<LoadedScenario> with_override(const LoadedScenario& scenario,
                                            const std::string& override_text,
                                            simcore::Diagnostics& diagnostics);

}  // namespace shardsim::scenario

namespace shardsim::simcore {

template <>
struct EnumNames<scenario::Fidelity> {
  static constexpr auto values =
      std::to_array<EnumName<scenario::Fidelity>>({{"model", scenario::Fidelity::model},
                                                   {"flow", scenario::Fidelity::flow},
                                                   {"chunk", scenario::Fidelity::chunk}});
};

}  // namespace shardsim::simcore

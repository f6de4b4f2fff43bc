// From a scenario to everything that a run needs: cluster, model, program, kernel times, groups.
//
// What is wrong with a scenario beyond its own text (an unknown topology, a group that does not
// divide the ranks, a model that does not fit its heads) is found here and reported with its place.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/cuda/program.hpp"
#include "models/cuda/runtime.hpp"
#include "models/gpu/gpu_spec.hpp"
#include "models/nccl/planner.hpp"
#include "models/network/graph.hpp"
#include "models/network/topology_builder.hpp"
#include "models/network/topology_library.hpp"
#include "models/scenario/collective_planning.hpp"
#include "models/scenario/hardware_changes.hpp"
#include "models/scenario/input_cache.hpp"
#include "models/scenario/job_plan.hpp"
#include "models/scenario/perturbations.hpp"
#include "models/scenario/rank_layout.hpp"
#include "models/scenario/scenario_spec.hpp"
#include "models/training/transformer_flops.hpp"

namespace shardsim::scenario {

/// Where shipped data lie.
struct DataFolders {
  std::filesystem::path topologies;
  std::filesystem::path scenarios;
  std::filesystem::path gpus() const { return topologies / "gpus"; }
  std::filesystem::path models() const { return scenarios / "models"; }
};

struct ExperimentOptions {
  DataFolders data;
  bool exact_ranks = false;
  HardwareChanges changes{};
  /// Where many experiments are built from the same files; must outlive them. Null: none.
  InputCache* inputs = nullptr;
  network::SizeLimits limits{};
};

/// Figures of the model for throughput and utilisation; none for prescribed workloads.
struct ModelFigures {
  double tokens_per_step = 0;          ///< whole cluster
  double model_flops_per_step = 0;     ///< whole cluster, causal attention counted once
  double hardware_flops_per_step = 0;  ///< one GPU, recomputation included
  double peak_flops = 0;               ///< dense peak of one GPU for the compute type
};

struct Experiment {
  LoadedScenario scenario;
  network::Topology topology;
  network::Graph graph;
  gpu::GpuSpec gpu;
  nccl::NcclSetup nccl;
  std::unique_ptr<CollectivePlanning> planning;
  std::vector<int> gpus;  ///< of each rank, in the cluster's numbering
  int nodes = 0;          ///< of the scenario's own job
  training::GroupSizes groups;
  std::unique_ptr<cuda::Program> program;
  std::optional<ModelFigures> figures;
  std::int64_t parameters = 0;  ///< of the model; 0 for prescribed workloads
  RankLayout layout;
  cuda::RuntimeSpec runtime;
  simcore::Bytes outside_allocator;  ///< CUDA context and NCCL's buffers
  Perturbations perturbations;
  std::vector<JobPlan> others;  ///< jobs and traffic beside the scenario's own
  std::vector<std::string> warnings;
};

/// Nothing if `diagnostics` received an error.
std::optional<Experiment> build_experiment(LoadedScenario scenario,
                                           const ExperimentOptions& options,
                                           simcore::Diagnostics& diagnostics);

}  // namespace shardsim::scenario

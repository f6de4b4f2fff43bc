#include "models/scenario/experiment.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/cuda/program_recorder.hpp"
#include "models/network/topology_builder.hpp"
#include "models/network/topology_warnings.hpp"
#include "models/scenario/class_search.hpp"
#include "models/scenario/device_memory.hpp"
#include "models/scenario/job_placement.hpp"
#include "models/scenario/nccl_files.hpp"
#include "models/training/explicit_workload.hpp"
#include "models/training/model_spec.hpp"
#include "models/training/strategy.hpp"
#include "models/training/transformer_parameters.hpp"
#include "models/training/transformer_workload.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::scenario {

using simcore::Bytes;
using simcore::Diagnostics;
using simcore::SimTime;
using training::Strategy;

namespace {

nccl::DataPath data_path(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::model:
      return nccl::DataPath::expected;
    case Fidelity::chunk:
      return nccl::DataPath::chunk;
    case Fidelity::flow:
      break;
  }
  return nccl::DataPath::flow;
}

/// Fills an experiment step by step; each step needs what the ones before found.
class Builder {
 public:
  Builder(LoadedScenario scenario, const ExperimentOptions& options, Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics) {
    made_.scenario = std::move(scenario);
    apply(options.changes, made_.scenario.spec.cpu);
  }

  std::optional<Experiment> build() {
    if (!set_up_nccl() || !load_cluster() || !place() || !record_others() || !size_groups() ||
        !record() || !perturb())
      return std::nullopt;
    lay_out();
    set_up_runtime();
    note_limits();
    return std::move(made_);
  }

 private:
  const ScenarioSpec& spec() const { return made_.scenario.spec; }
  bool has_head_units() const {
    const training::TrainingSpec& training = spec().training;
    return training.strategy == Strategy::fsdp2 && training.embedding_and_head_units;
  }
  simcore::SourceLocation where(std::string_view key) const { return made_.scenario.where(key); }

  simcore::SourceLocation variable_place(std::string_view name) const {
    return where(fmt::format("nccl.env.{}", name));
  }

  std::int64_t gpus_per_node() const {
    return made_.graph.gpu_count() / std::max(1, made_.graph.node_count());
  }

  /// A relative path counts from the scenario's folder if the file is there.
  std::string topology_name() const {
    const std::string& name = spec().cluster.topology;
    const std::filesystem::path beside = made_.scenario.file.parent_path() / name;
    const bool is_path = name.find('/') != std::string::npos || name.ends_with(".yaml");
    return is_path && simcore::is_text_file(beside) ? beside.string() : name;
  }

  /// `load` gives a value of the cache's type; what other experiments loaded is not loaded again.
  template <class Cache, class Load>
  auto remember(Cache InputCache::* cache, const std::string& key, Load&& load) {
    if (options_.inputs == nullptr) return load();
    return (options_.inputs->*cache).get(key, diagnostics_, load);
  }

  std::optional<network::Topology> find_topology() {
    const std::string name = topology_name();
    return remember(&InputCache::topologies, name, [&] {
      return network::load_topology(name, {options_.data.topologies}, diagnostics_,
                                    where("cluster.topology"));
    });
  }

  std::optional<gpu::GpuSpec> find_gpu(const network::Topology& topology) {
    const std::filesystem::path beside = topology.file.parent_path() / "gpus";
    return remember(&InputCache::gpus, beside.string() + "/" + topology.spec.gpu, [&] {
      return gpu::load_gpu(topology.spec.gpu, {beside, options_.data.gpus()}, diagnostics_,
                           topology.gpu_where);
    });
  }

  std::optional<training::ModelSpec> find_model(const training::ModelReference& wanted) {
    const training::ModelSearch search{options_.data.models(), made_.scenario.file.parent_path()};
    return remember(&InputCache::models, simcore::print_value(wanted),
                    [&] { return training::load_model(wanted, search, diagnostics_); });
  }

  bool load_cluster() {
    auto topology = find_topology();
    if (!topology) return false;
    apply(options_.changes, topology->spec);
    if (spec().cluster.routing) topology->spec.fabric.routing = *spec().cluster.routing;
    apply_environment(made_.nccl.environment, topology->spec);
    const network::ClusterSize size{spec().cluster.nodes, spec().cluster.gpus_per_node,
                                    where("cluster.nodes"), where("cluster.gpus_per_node"),
                                    options_.limits};
    auto graph = network::build_graph(topology->spec, size, diagnostics_);
    auto gpu = find_gpu(*topology);
    if (!graph || !gpu) return false;
    apply(options_.changes, *gpu);
    made_.topology = std::move(*topology);
    made_.graph = std::move(*graph);
    made_.gpu = std::move(*gpu);
    made_.planning = std::make_unique<CollectivePlanning>(made_.topology.spec, made_.gpu,
                                                          made_.nccl, data_path(spec().fidelity));
    check_nic_list(made_.planning->planner, variable_place("NCCL_IB_HCA"), diagnostics_);
    return true;
  }

  bool set_up_nccl() {
    const auto places = [this](std::string_view name) { return variable_place(name); };
    auto setup = nccl::read_setup(spec().nccl.version, where("nccl.version"), spec().nccl.env,
                                  places, diagnostics_);
    if (!setup || !read_nccl_files(*setup, places, diagnostics_)) return false;
    made_.nccl = std::move(*setup);
    for (const auto& [name, file] :
         {std::pair{"NCCL_TOPO_DUMP_FILE", &made_.nccl.environment.topology_dump_file},
          std::pair{"NCCL_GRAPH_DUMP_FILE", &made_.nccl.environment.graph_dump_file}}) {
      if (!*file) continue;
      diagnostics_.warning(variable_place(name),
                           fmt::format("{} is not written by a run, but by `shardsim topology` and "
                                       "`shardsim collective`",
                                       name));
    }
    return true;
  }

  bool place() {
    auto placement = place_jobs(made_.scenario, made_.graph, diagnostics_);
    if (!placement) return false;
    made_.gpus = std::move(placement->gpus);
    made_.nodes = placement->nodes;
    made_.others = std::move(placement->others);
    return true;
  }

  /// Records the others' programs, as if each were the scenario's own.
  bool record_others() {
    for (std::size_t i = 0; i < made_.others.size(); ++i) {
      JobPlan& job = made_.others[i];
      if (job.background) {
        record_background(job, spec().background[i - spec().jobs.size()]);
      } else if (!record_other(job, spec().jobs[i], made_.scenario.root.find("jobs")->items()[i])) {
        return false;
      }
    }
    return true;
  }

  bool record_other(JobPlan& job, const JobSpec& wanted, const simcore::ConfigNode& node) {
    LoadedScenario as_own = made_.scenario;
    as_own.spec.workload = wanted.workload;
    as_own.spec.training = wanted.training;
    as_own.spec.cpu = wanted.cpu;
    apply(options_.changes, as_own.spec.cpu);
    as_own.root = node;
    std::swap(made_.scenario, as_own);
    std::swap(made_.gpus, job.gpus);
    const bool done = size_groups() && record();
    std::swap(made_.gpus, job.gpus);
    std::swap(made_.scenario, as_own);
    if (!done) return false;
    job.groups = made_.groups;
    job.program = std::move(made_.program);
    job.tokens_per_step = made_.figures ? made_.figures->tokens_per_step : 0;
    job.reshard = reshard_group(wanted.training);
    made_.figures.reset();
    made_.parameters = 0;
    return true;
  }

  /// A step is one exchange; two of them, so that the second can be repeated.
  static void record_background(JobPlan& job, const BackgroundSpec& traffic) {
    cuda::ProgramRecorder recorder;
    cuda::CollectiveSpec exchange;
    exchange.kind = traffic.pattern == BackgroundPattern::alltoall ? cuda::CollectiveKind::alltoall
                                                                   : cuda::CollectiveKind::sendrecv;
    exchange.communicator = recorder.create_communicator("world");
    exchange.bytes = traffic.bytes;
    for (int step = 0; step < 2; ++step) {
      recorder.begin_step();
      recorder.launch(cuda::ProgramRecorder::compute_stream, "exchange", exchange);
      recorder.synchronize_device();
      recorder.cpu_work(traffic.gap);
      recorder.end_step();
    }
    job.program = std::make_unique<cuda::Program>(recorder.finish());
    job.groups.world = static_cast<std::int64_t>(job.gpus.size());
  }

  bool size_groups() {
    const auto world = static_cast<std::int64_t>(made_.gpus.size());
    auto groups = training::group_sizes(spec().training, world, gpus_per_node());
    if (!groups) {
      const bool named = spec().training.shard_group.has_value();
      diagnostics_.error(where(named ? "training.shard_group" : "training"), groups.error());
      return false;
    }
    made_.groups = *groups;
    return true;
  }

  static std::int64_t reshard_group(const training::TrainingSpec& training) {
    if (!training.reshard_after_forward) return 0;
    const auto* ranks = std::get_if<std::int64_t>(&training.reshard_after_forward->value);
    return ranks != nullptr ? *ranks : 0;
  }

  /// Whether the program would stay of a size that can be held.
  bool bounded(std::int64_t blocks) {
    constexpr std::int64_t most = 250'000;
    const std::int64_t accumulation = spec().workload.gradient_accumulation;
    const std::int64_t steps = spec().steps.warmup + spec().steps.measure;
    if (blocks * steps <= most / accumulation) return true;
    diagnostics_.error(
        where("workload"),
        fmt::format("{} blocks in {} micro-batches and {} steps are more than the {} passes that "
                    "can be simulated",
                    blocks, accumulation, steps, most));
    return false;
  }

  bool record() { return spec().workload.model ? record_transformer() : record_explicit(); }

  bool record_explicit() {
    const training::ExplicitSpec& times = *spec().workload.explicit_times;
    if (!bounded(times.blocks)) return false;
    if (times.block_forward + times.block_backward == SimTime{}) {
      diagnostics_.error(where("workload.explicit"),
                         "blocks that take no time: expected block_forward or block_backward "
                         "above 0");
    }
    for (const std::string& key :
         training::missing_times(*spec().workload.explicit_times, spec().training, made_.groups)) {
      diagnostics_.error(where("workload.explicit"),
                         fmt::format("{} needs the time '{}'",
                                     simcore::print_value(spec().training.strategy), key));
    }
    for (const std::string& key :
         training::missing_sizes(*spec().workload.explicit_times, spec().training)) {
      diagnostics_.error(where("workload.explicit"),
                         fmt::format("{} needs the size '{}'",
                                     simcore::print_value(spec().training.strategy), key));
    }
    if (has_head_units()) {
      diagnostics_.error(where("training.embedding_and_head_units"),
                         "prescribed times are those of the whole root: expected false");
    }
    if (spec().training.strategy == Strategy::fsdp1 &&
        spec().training.wrap_policy == training::WrapPolicy::size) {
      diagnostics_.error(where("training.wrap_policy"),
                         "prescribed times are those of whole blocks: expected block");
    }
    if (diagnostics_.has_errors()) return false;
    training::ExplicitWorkload workload(*spec().workload.explicit_times,
                                        spec().cpu.launch.value_or(SimTime{}),
                                        spec().training.is_zero());
    record_program(workload);
    return true;
  }

  bool record_transformer() {
    const training::WorkloadSpec& wanted = spec().workload;
    const auto model = find_model(*wanted.model);
    if (!model) return false;
    training::check_model_fits(wanted, *model,
                               made_.scenario.root.find("workload") != nullptr
                                   ? *made_.scenario.root.find("workload")
                                   : made_.scenario.root,
                               diagnostics_);
    if (!gpu_supports(wanted.precision)) {
      diagnostics_.error(where("workload.precision"),
                         fmt::format("{} has no units for precision {}", made_.gpu.name,
                                     simcore::print_value(wanted.precision)));
    }
    if (diagnostics_.has_errors()) return false;
    if (!bounded(model->layers)) return false;
    const training::TransformerShape shape = training::resolve(*model, *wanted.sequence_length);
    if (has_head_units() && shape.tied_embeddings) {
      diagnostics_.error(where("training.embedding_and_head_units"),
                         "the model's head is its embedding, which one unit holds: expected false");
      return false;
    }
    training::TransformerSetting setting;
    setting.cpu = spec().cpu;
    setting.optimizer.kind = spec().training.optimizer;
    setting.optimizer.implementation = spec().training.implementation();
    setting.optimizer.dtensor_parameters = spec().training.strategy == Strategy::fsdp2;
    setting.optimizer.master_type = training::data_type(spec().training.master_dtype);
    setting.cublas_workspace =
        training::cublas_workspace_bytes(static_cast<int>(made_.gpu.compute_capability));
    setting.ranks_per_node = gpus_per_node();
    setting.host_link = spec().cpu.host_link.value_or(host_link(setting.host_link));
    training::TransformerWorkload workload(shape, wanted, setting);
    record_program(workload);
    count_figures(shape);
    made_.parameters = training::parameter_count(shape);
    return true;
  }

  /// What a GPU gets of the way to host memory while all GPUs of its node copy.
  simcore::BitRate host_link(simcore::BitRate otherwise) const {
    const network::NodeSpec& node = made_.topology.spec.node;
    if (!node.pcie) return otherwise;
    const auto& own = node.pcie->gpu_link.value_or(node.pcie->link);
    if (node.pcie->switches == 0) return own.usable();
    const double uplinks = node.pcie->uplink.value_or(node.pcie->link).usable().bytes_per_second *
                           static_cast<double>(node.pcie->switches);
    return std::min(own.usable(), simcore::BitRate{uplinks / static_cast<double>(node.gpus)});
  }

  bool gpu_supports(training::Precision precision) const {
    if (precision == training::Precision::fp8 && !made_.gpu.supports(gpu::DataType::fp8)) {
      return false;
    }
    return made_.gpu.supports(training::compute_type(precision));
  }

  void record_program(training::Workload& workload) {
    const int steps = static_cast<int>(spec().steps.warmup + spec().steps.measure);
    made_.program = std::make_unique<cuda::Program>(
        training::record_program(spec().training, workload, made_.groups,
                                 static_cast<int>(spec().workload.gradient_accumulation), steps));
  }

  void count_figures(const training::TransformerShape& shape) {
    const training::WorkloadSpec& work = spec().workload;
    const double ranks = static_cast<double>(made_.groups.world);
    ModelFigures figures;
    figures.tokens_per_step =
        ranks * static_cast<double>(*work.sequence_length * work.micro_batch_size *
                                    work.gradient_accumulation);
    figures.model_flops_per_step =
        figures.tokens_per_step *
        training::training_flops_per_token(shape, *work.sequence_length).causal;
    const double steps = static_cast<double>(spec().steps.warmup + spec().steps.measure);
    const auto hardware = training::hardware_flops(*made_.program);
    figures.hardware_flops_per_step =
        figures.model_flops_per_step / ranks + hardware.recomputed / steps;
    figures.peak_flops =
        made_.gpu.peak_rate(training::compute_type(work.precision)).flops_per_second;
    made_.figures = figures;
  }

  bool perturb() {
    for (std::size_t i = 0; i < spec().perturb.size(); ++i) {
      const PerturbationSpec& one = spec().perturb[i];
      const simcore::SourceLocation& place =
          made_.scenario.root.find("perturb")->items()[i].where();
      if (one.rank && *one.rank >= made_.groups.world) {
        diagnostics_.error(place, fmt::format("there is no rank {}: the cluster has {}", *one.rank,
                                              made_.groups.world));
      }
      if (!one.link) continue;
      if (const auto links = made_.graph.links_named(*one.link); !links) {
        diagnostics_.error(place, links.error());
      }
    }
    if (diagnostics_.has_errors()) return false;
    made_.perturbations =
        resolve(spec().perturb, made_.graph, static_cast<int>(made_.groups.world));
    for (const network::VertexId nic :
         nics_down_at_start(made_.perturbations.link_changes, made_.graph)) {
      made_.graph.set_down(nic);
    }
    return true;
  }

  static ClassJob class_job(const cuda::Program& program, const training::GroupSizes& sizes,
                            const std::vector<int>& gpus, std::int64_t reshard,
                            std::vector<Colour> colours) {
    ClassJob job{&program, &gpus, std::move(colours), {}};
    for (const std::string& role : program.communicators) {
      job.groups.push_back(groups_of_role(role, sizes, reshard));
    }
    return job;
  }

  void lay_out() {
    const auto ranks = static_cast<int>(made_.groups.world);
    std::vector<ClassJob> jobs{class_job(*made_.program, made_.groups, made_.gpus,
                                         reshard_group(spec().training),
                                         colours_of_ranks(spec().perturb, ranks))};
    for (const JobPlan& other : made_.others) {
      jobs.push_back(class_job(*other.program, other.groups, other.gpus, other.reshard,
                               std::vector<Colour>(other.gpus.size(), 0)));
    }
    const auto classes = search_classes(jobs, made_.graph, made_.perturbations.link_changes,
                                        *made_.planning, options_.exact_ranks);
    made_.layout =
        lay_out_ranks(made_.program->communicators, jobs[0].groups, classes[0], made_.gpus);
    for (std::size_t i = 0; i < made_.others.size(); ++i) {
      JobPlan& other = made_.others[i];
      other.layout = lay_out_ranks(other.program->communicators, jobs[i + 1].groups, classes[i + 1],
                                   other.gpus);
    }
  }

  void set_up_runtime() {
    made_.runtime.allocator = spec().allocator;
    made_.runtime.memory_capacity = made_.gpu.memory.capacity;
    if (!spec().workload.model) return;
    made_.runtime.launch_latency = spec().cpu.launch_latency;
    made_.runtime.device_malloc = spec().cpu.device_malloc;
    made_.runtime.device_free = spec().cpu.device_free;
    // NCCL allocates buffers for every channel it may use: two dozen on current nodes.
    constexpr int channels = 24;
    made_.outside_allocator = memory_outside_allocator(made_.layout.communicators, channels);
    const Bytes left = made_.gpu.memory.capacity - made_.outside_allocator;
    made_.runtime.memory_capacity = std::max(left, Bytes{0});
  }

  void note_limits() {
    const ScenarioSpec& given = spec();
    made_.warnings = network::uplink_warnings(made_.graph);
    if (!given.workload.model) return;
    const gpu::GemmConstants& constants =
        made_.gpu.gemm_constants(training::compute_type(given.workload.precision));
    if (constants.basis.kind != gpu::Basis::Kind::fitted) {
      made_.warnings.push_back(rate_warning(constants));
    }
  }

  /// What is known of the GPU's matrix products, and what says more than that.
  std::string rate_warning(const gpu::GemmConstants& constants) const {
    std::string text =
        constants.basis.kind == gpu::Basis::Kind::borrowed
            ? fmt::format("rates of matrix products on {} are taken over from {}", made_.gpu.name,
                          constants.basis.lender)
            : fmt::format("rates of matrix products on {} are assumed", made_.gpu.name);
    text += fmt::format(": a kernel may be off by {:.0f} % on average",
                        constants.expected_error.value * 100);
    if (constants.training_throttle) {
      text +=
          "; what they come to in a step is calibrated on training runs, and the interval "
          "says how far steps are off";
    }
    return text;
  }

  const ExperimentOptions& options_;
  Diagnostics& diagnostics_;
  Experiment made_;
};

}  // namespace

std::optional<Experiment> build_experiment(LoadedScenario scenario,
                                           const ExperimentOptions& options,
                                           Diagnostics& diagnostics) {
  return Builder(std::move(scenario), options, diagnostics).build();
}

}  // namespace shardsim::scenario

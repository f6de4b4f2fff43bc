#include "models/scenario/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "models/cuda/memory_rehearsal.hpp"
#include "models/nccl/nccl_model.hpp"
#include "models/nccl/ring_backend.hpp"
#include "models/network/flow_network.hpp"
#include "models/scenario/kernel_times.hpp"
#include "models/scenario/memory_log.hpp"
#include "models/scenario/memory_timeline.hpp"
#include "models/scenario/step_analysis.hpp"
#include "models/scenario/timeline.hpp"

namespace shardsim::scenario {

using simcore::Bytes;
using simcore::SimTime;

namespace {

/// A run stops here: sums of times stay exact below it.
constexpr SimTime latest_moment = SimTime::microseconds(4'000'000'000'000);

nccl::RingHardware ring_hardware(const Experiment& experiment) {
  nccl::RingHardware hardware;
  hardware.compute_capability =
      static_cast<int>(std::lround(experiment.gpu.compute_capability * 10));
  const auto& cpus = experiment.topology.spec.node.cpus;
  hardware.amd_cpu = cpus && cpus->vendor == network::CpuVendor::amd;
  return hardware;
}

constexpr int picture_columns = 72;
constexpr std::size_t timeline_points = 400;

/// How a collective of one kind on one communicator was carried out, for the result.
struct Choice {
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  std::int64_t bytes = -1;
};

}  // namespace

struct Simulation::State {
  State(const Experiment& given, bool trace_allocator)
      : experiment(given),
        flows(given.graph, queue),
        planner(given.topology.spec, ring_hardware(given).compute_capability, given.nccl),
        model(planner, nccl::timing_constants(ring_hardware(given).compute_capability),
              nccl::nccl_ring_tuning(ring_hardware(given))),
        backend(given.graph, flows, queue, model) {
    for (const nccl::CommunicatorSpec& one : given.layout.communicators) {
      backend.add_communicator(one);
    }
    times = kernel_times(*given.program, given.gpu, collective_loads());
    set_up_ranks();
    runtime = std::make_unique<cuda::Runtime>(given.runtime, ranks, backend, queue);
    listen();
    if (trace_allocator) listen_to_allocator();
    degrade_links();
    runtime->start();
  }

  std::uint32_t first_measured() const {
    return static_cast<std::uint32_t>(experiment.scenario.spec.steps.warmup);
  }
  std::uint32_t steps() const { return experiment.program->step_count; }

  /// What the program's collectives take from kernels, by communicator and kind.
  CollectiveLoads collective_loads() {
    constexpr std::size_t most = 8;
    CollectiveLoads made;
    std::vector<std::pair<cuda::CommunicatorId, cuda::CollectiveKind>> keys;
    std::vector<std::int64_t> largest;
    const auto& collectives = experiment.program->collectives;
    for (const cuda::CollectiveSpec& spec : collectives) {
      const std::pair key{spec.communicator, spec.kind};
      auto at = static_cast<std::size_t>(std::find(keys.begin(), keys.end(), key) - keys.begin());
      if (at == keys.size() && keys.size() < most) {
        keys.push_back(key);
        largest.push_back(-1);
        made.loads.emplace_back();
      }
      at = std::min(at, keys.size() - 1);
      made.load_of_collective.push_back(static_cast<std::uint8_t>(at));
      if (spec.fixed_time || spec.bytes.count <= largest[at]) continue;
      largest[at] = spec.bytes.count;
      made.loads[at] = collective_load(spec);
    }
    return made;
  }

  CollectiveLoad collective_load(const cuda::CollectiveSpec& spec) {
    const std::uint32_t instance = experiment.layout.memberships[0][spec.communicator].instance;
    const nccl::CollectiveTiming* timing = backend.timing(instance, spec);
    if (timing == nullptr || timing->traffic == nullptr) return {};
    return {timing->channels, {memory_touches(spec.kind) * timing->traffic->rate.bytes_per_second}};
  }

  void set_up_ranks() {
    const RankLayout& layout = experiment.layout;
    const auto& ops = experiment.program->ops;
    memory_depends_on_time = std::any_of(ops.begin(), ops.end(), [](const cuda::Op& op) {
      return op.code == cuda::OpCode::record_stream;
    });
    if (!memory_depends_on_time && layout.ranks.size() > 1) {
      device_calls = cuda::rehearse_memory(*experiment.program, experiment.runtime);
    }
    for (std::size_t slot = 0; slot < layout.ranks.size(); ++slot) {
      cuda::RankSetup setup;
      setup.rank = layout.ranks[slot];
      setup.program = experiment.program.get();
      setup.kernel_times = &times;
      if (!experiment.slowdowns.empty()) setup.compute_slowdown = experiment.slowdowns[slot];
      setup.communicators = layout.memberships[slot];
      setup.tracks_memory = slot == 0 || memory_depends_on_time;
      setup.device_calls = &device_calls;
      ranks.push_back(setup);
    }
    step_begin.assign(ranks.size(), SimTime{});
    retries_in_warmup.assign(ranks.size(), 0);
    step_times.assign(ranks.size(), {});
    persistent.assign(ranks.size(), Bytes{});
  }

  void listen() {
    const std::uint32_t last = steps() - 1;
    logger =
        std::make_unique<StepLogger>(*runtime, ranks, std::vector<bool>(ranks.size(), true), last);
    memory_logger = std::make_unique<MemoryLogger>(*runtime, ranks);
    runtime->step_boundary.listen([this](const cuda::StepRecord& record) {
      if (record.begins) {
        step_begin[record.slot] = record.time;
        if (record.step == first_measured()) {
          retries_in_warmup[record.slot] = runtime->memory(record.slot).num_alloc_retries;
        }
        persistent[record.slot] = runtime->memory(record.slot).allocated;
        if (record.slot == 0 && record.step == first_measured()) {
          flows.reset_statistics();
          statistics_begin = queue.now();
        }
        return;
      }
      if (record.slot == 0) finished_steps = record.step + 1;
      if (record.step >= first_measured()) {
        step_times[record.slot].push_back(record.time - step_begin[record.slot]);
      }
    });
    transfers.resize(experiment.layout.communicators.size());
    backend.collective_finished.listen([this](const nccl::CollectiveRecord& record) {
      transfers[record.instance].push_back(record.last_arrival);
      Choice& choice = choices[{record.instance, record.spec->kind}];
      if (record.spec->bytes.count <= choice.bytes) return;
      choice = Choice{std::string(record.algorithm), std::string(record.protocol), record.channels,
                      record.spec->bytes.count};
    });
  }

  void listen_to_allocator() {
    runtime->allocator_acted.listen([this](const cuda::AllocatorRecord& record) {
      if (record.slot == 0) allocator_records.push_back(record);
    });
  }

  void degrade_links() {
    std::map<network::LinkId, double> shares;
    for (const PerturbationSpec& one : experiment.scenario.spec.perturb) {
      if (!one.link) continue;
      const auto links = experiment.graph.links_named(*one.link);
      if (!links) continue;
      for (const network::LinkId link : *links) {
        // Several entries for one link multiply, as slowdowns of one rank do.
        double& left = shares.try_emplace(link, 1.0).first->second;
        left *= one.bandwidth->value;
        const double usual = experiment.graph.links()[link].bandwidth.bytes_per_second;
        flows.set_bandwidth(link, simcore::BitRate{usual * left});
      }
    }
  }

  std::optional<RunFailure> failure() const;
  RunFailure out_of_memory(const cuda::OutOfMemory& what) const;
  RunOutput make_output();
  void add_transfer_starts(StepLog& log) const;
  void fill_collectives(Result& result, const StepLog& log, const StepAnalysis& analysis) const;
  void fill_links(Result& result) const;
  void fill_memory(Result& result, std::uint32_t slot, const StepLog* log) const;
  void warn_of_retries(Result& result, std::uint32_t slot) const;
  Result describe_run() const;
  void fill_throughput(Result& result) const;
  SimTime mean_step(std::uint32_t slot) const;
  std::uint32_t slowest_slot() const;
  std::vector<SimTime> lone_kernel_times(std::uint32_t slot) const;

  const Experiment& experiment;
  simcore::EventQueue queue;
  network::FlowNetwork flows;
  nccl::Planner planner;
  nccl::NcclModel model;
  nccl::RingBackend backend;
  cuda::KernelTimes times;
  std::vector<cuda::DeviceCalls> device_calls;  ///< of ranks that do not track memory
  std::vector<cuda::RankSetup> ranks;
  std::unique_ptr<cuda::Runtime> runtime;
  std::unique_ptr<StepLogger> logger;
  std::unique_ptr<MemoryLogger> memory_logger;
  std::vector<cuda::AllocatorRecord> allocator_records;  ///< of slot 0, if wanted

  bool memory_depends_on_time = false;  ///< otherwise slot 0 tracks it for all
  std::uint32_t finished_steps = 0;
  SimTime statistics_begin;
  std::vector<std::int64_t> retries_in_warmup;   ///< by slot
  std::vector<SimTime> step_begin;               ///< by slot
  std::vector<std::vector<SimTime>> step_times;  ///< measured, by slot
  std::vector<Bytes> persistent;                 ///< allocated before the step, by slot
  std::vector<std::vector<SimTime>> transfers;   ///< by instance, in order
  std::map<std::pair<std::uint32_t, cuda::CollectiveKind>, Choice> choices;
};

Simulation::Simulation(const Experiment& experiment, bool trace_allocator)
    : state_(std::make_unique<State>(experiment, trace_allocator)) {}

Simulation::~Simulation() = default;

bool Simulation::advance(std::uint64_t events) {
  for (std::uint64_t i = 0; i < events; ++i) {
    if (state_->runtime->out_of_memory() || state_->queue.now() > latest_moment) return false;
    if (!state_->queue.step()) return false;
  }
  return true;
}

double Simulation::progress() const {
  return static_cast<double>(state_->finished_steps) / std::max(1U, state_->steps());
}

std::uint64_t Simulation::events() const { return state_->queue.handled(); }

std::expected<RunOutput, RunFailure> Simulation::finish() {
  if (auto failure = state_->failure()) return std::unexpected(std::move(*failure));
  return state_->make_output();
}

AllocatorTrace Simulation::allocator_trace() {
  AllocatorTrace trace;
  trace.program = state_->experiment.program.get();
  trace.spec = state_->experiment.runtime.allocator;
  trace.records = std::move(state_->allocator_records);
  trace.segments = state_->runtime->memory_snapshot(0);
  return trace;
}

RunFailure Simulation::State::out_of_memory(const cuda::OutOfMemory& what) const {
  const cuda::Program& program = *experiment.program;
  const cuda::AllocationSpec& wanted = program.allocations[program.ops[what.op].name];
  OutOfMemoryResult found;
  found.rank = ranks[what.slot].rank;
  found.step = step_of(program, what.op);
  found.operation = operation_after(program, what.op);
  found.unit = unit_in_name(found.operation);
  found.allocation = program.names[wanted.name];
  found.kind = wanted.kind;
  found.shortage = what.shortage;
  RunFailure failure;
  failure.message = fmt::format(
      "out of memory: rank {} asked for {} for {} ({}){} in step {}", found.rank,
      simcore::to_text(what.shortage.requested), found.allocation, memory_kind_name(wanted.kind),
      found.operation.empty() ? "" : " at " + found.operation, found.step);
  failure.details.push_back(cuda::to_text(what.shortage));
  failure.details.push_back(
      fmt::format("the GPU has {}, of which {} belong to the CUDA context and NCCL",
                  simcore::to_text(experiment.gpu.memory.capacity),
                  simcore::to_text(experiment.outside_allocator)));
  for (int kind = 0; kind < cuda::memory_kind_count; ++kind) {
    const Bytes bytes = what.statistics.allocated_by_kind[static_cast<std::size_t>(kind)];
    if (bytes.count == 0) continue;
    failure.details.push_back(fmt::format("live: {:>11}  {}", simcore::to_text(bytes),
                                          memory_kind_name(static_cast<cuda::MemoryKind>(kind))));
  }
  failure.result = describe_run();
  fill_memory(*failure.result, what.slot, nullptr);
  failure.result->memory.fits = false;
  failure.result->out_of_memory = std::move(found);
  return failure;
}

std::optional<RunFailure> Simulation::State::failure() const {
  if (runtime->out_of_memory()) return out_of_memory(*runtime->out_of_memory());
  if (backend.failure()) return RunFailure{nccl::to_text(*backend.failure()), {}, {}};
  if (queue.now() > latest_moment) {
    return RunFailure{"the run takes more than 46 days of simulated time", {}, {}};
  }
  if (runtime->finished()) return std::nullopt;
  for (const PerturbationSpec& one : experiment.scenario.spec.perturb) {
    if (!one.link || one.bandwidth->value > 0) continue;
    return RunFailure{
        fmt::format("no route: a collective needs '{}', whose bandwidth is 0 %", *one.link),
        runtime->deadlock_report(),
        {}};
  }
  auto lines = runtime->deadlock_report();
  constexpr std::size_t most = 16;
  if (lines.size() > most) {
    const std::size_t more = lines.size() - most;
    lines.resize(most);
    lines.push_back(fmt::format("and {} more ranks", more));
  }
  return RunFailure{"deadlock: nothing can go on", std::move(lines), {}};
}

SimTime Simulation::State::mean_step(std::uint32_t slot) const {
  SimTime sum;
  for (const SimTime time : step_times[slot]) sum += time;
  return SimTime::picoseconds(sum.picoseconds() /
                              static_cast<std::int64_t>(step_times[slot].size()));
}

/// The slot with the longest step. Where all wait for one another, the one that computes slowest.
std::uint32_t Simulation::State::slowest_slot() const {
  std::uint32_t slowest = 0;
  for (std::uint32_t slot = 1; slot < ranks.size(); ++slot) {
    const SimTime time = mean_step(slot);
    const SimTime worst = mean_step(slowest);
    if (time > worst ||
        (time == worst && ranks[slot].compute_slowdown > ranks[slowest].compute_slowdown)) {
      slowest = slot;
    }
  }
  return slowest;
}

/// What each kernel takes on the slot's GPU without collectives beside it.
std::vector<SimTime> Simulation::State::lone_kernel_times(std::uint32_t slot) const {
  std::vector<SimTime> lone = times.by_load[0];
  for (SimTime& time : lone) {
    time = SimTime::picoseconds(
        std::llround(static_cast<double>(time.picoseconds()) * ranks[slot].compute_slowdown));
  }
  return lone;
}

/// Cuts the step's part out of all collectives of each communicator.
void Simulation::State::add_transfer_starts(StepLog& log) const {
  const cuda::Program& program = *log.program;
  std::vector<std::size_t> before(program.communicators.size(), 0);
  std::vector<std::size_t> within(program.communicators.size(), 0);
  for (std::uint32_t op = 0; op <= log.last_op; ++op) {
    if (program.ops[op].code != cuda::OpCode::collective) continue;
    auto& counts = op < log.first_op ? before : within;
    ++counts[program.collectives[program.ops[op].index].communicator];
  }
  log.transfer_starts.resize(program.communicators.size());
  for (std::size_t id = 0; id < program.communicators.size(); ++id) {
    const auto& all = transfers[experiment.layout.memberships[log.slot][id].instance];
    const auto from = std::min(all.size(), before[id]);
    const auto to = std::min(all.size(), before[id] + within[id]);
    log.transfer_starts[id].assign(all.begin() + static_cast<std::ptrdiff_t>(from),
                                   all.begin() + static_cast<std::ptrdiff_t>(to));
  }
}

void Simulation::State::fill_collectives(Result& result, const StepLog& log,
                                         const StepAnalysis& analysis) const {
  for (const auto& [key, totals] : analysis.collectives) {
    const auto& [id, kind] = key;
    const std::uint32_t instance = experiment.layout.memberships[log.slot][id].instance;
    CollectiveResult one;
    one.kind = collective_name(kind);
    one.group = experiment.program->communicators[id];
    one.group_size =
        static_cast<int>(experiment.layout.communicators[instance].groups.front().size());
    one.count = totals.count;
    one.bytes = totals.bytes;
    one.time = totals.time;
    one.exposed = totals.exposed;
    if (const auto found = choices.find({instance, kind}); found != choices.end()) {
      one.algorithm = found->second.algorithm;
      one.protocol = found->second.protocol;
      one.channels = found->second.channels;
    }
    if (totals.time > SimTime{}) {
      one.algbw_gbytes_per_s =
          static_cast<double>(totals.bytes.count) / totals.time.seconds() * 1e-9;
      one.busbw_gbytes_per_s = one.algbw_gbytes_per_s * bus_factor(kind, one.group_size);
    }
    result.collectives.push_back(std::move(one));
  }
}

void Simulation::State::fill_links(Result& result) const {
  struct Busy {
    network::LinkId link;
    network::LinkStatistics statistics;
  };
  std::vector<Busy> all;
  for (network::LinkId link = 0; link < experiment.graph.links().size(); ++link) {
    const network::LinkStatistics statistics = flows.statistics(link);
    if (statistics.bytes > 0) all.push_back(Busy{link, statistics});
  }
  const auto busier = [](const Busy& a, const Busy& b) {
    if (a.statistics.busy != b.statistics.busy) return a.statistics.busy > b.statistics.busy;
    if (a.statistics.peak_share != b.statistics.peak_share) {
      return a.statistics.peak_share > b.statistics.peak_share;
    }
    if (a.statistics.bytes != b.statistics.bytes) return a.statistics.bytes > b.statistics.bytes;
    return a.link < b.link;
  };
  const std::size_t shown = std::min<std::size_t>(20, all.size());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end(),
                    busier);
  const double window = std::max(1e-12, (queue.now() - statistics_begin).seconds());
  for (std::size_t i = 0; i < shown; ++i) {
    result.links.push_back(LinkResult{
        experiment.graph.link_name(all[i].link), Bytes{std::llround(all[i].statistics.bytes)},
        all[i].statistics.busy.seconds() / window, all[i].statistics.peak_share});
  }
}

/// Of a rank that tracks its memory; `log` is its measured step, or null if it got no further than
/// the step that it is in.
void Simulation::State::fill_memory(Result& result, std::uint32_t slot, const StepLog* log) const {
  const cuda::AllocatorStatistics& memory = runtime->memory(slot);
  result.memory.timeline = make_memory_timeline(memory_logger->log(slot), log);
  std::vector<MemoryPoint>& points = result.memory.timeline.points;
  if (log != nullptr) {
    result.memory.over_step = memory_over_step(points, log->end - log->begin, picture_columns);
  }
  points = thin_out(points, timeline_points);
  result.memory.persistent = persistent[slot];
  result.memory.peak_allocated = memory.peak_allocated;
  result.memory.peak_reserved = memory.peak_reserved;
  result.memory.capacity = experiment.gpu.memory.capacity;
  result.memory.outside = experiment.outside_allocator;
  result.memory.fits = true;
  for (std::size_t kind = 0; kind < cuda::memory_kind_count; ++kind) {
    result.memory.by_kind[kind] = memory.peak_allocated_by_kind[kind];
  }
  warn_of_retries(result, slot);
}

/// Each retry waits for the GPU and frees segments; until fragments settle, some steps have more.
void Simulation::State::warn_of_retries(Result& result, std::uint32_t slot) const {
  const std::int64_t all = runtime->memory(slot).num_alloc_retries;
  if (all == 0) return;
  std::string warning =
      fmt::format("memory is tight: the allocator had to free cached memory {} time{}", all,
                  all == 1 ? "" : "s");
  if (const std::int64_t measured = all - retries_in_warmup[slot];
      measured > 0 && !runtime->out_of_memory()) {
    warning += fmt::format(
        ", {} of them in the measured steps, which wait for it; more "
        "steps.warmup shows whether that goes on",
        measured);
  }
  result.warnings.push_back(std::move(warning));
}

void Simulation::State::fill_throughput(Result& result) const {
  if (!experiment.figures) return;
  const ModelFigures& figures = *experiment.figures;
  const double seconds = result.step.time.seconds();
  const double gpus = result.gpus;
  Throughput& out = result.throughput;
  out.tokens_per_s = figures.tokens_per_step / seconds;
  out.tokens_per_s_per_gpu = out.tokens_per_s / gpus;
  const double model_rate = figures.model_flops_per_step / gpus / seconds;
  out.model_tflops_per_gpu = model_rate * 1e-12;
  out.mfu = model_rate / figures.peak_flops;
  out.hfu = figures.hardware_flops_per_step / seconds / figures.peak_flops;
}

/// What the run was, whatever came of it.
Result Simulation::State::describe_run() const {
  Result result;
  result.scenario_name = experiment.scenario.spec.name;
  result.scenario_file = experiment.scenario.file.string();
  result.overrides = experiment.scenario.overrides;
  result.gpus = experiment.graph.gpu_count();
  result.nodes = experiment.graph.node_count();
  result.gpu = experiment.gpu.name;
  result.warnings = experiment.warnings;
  result.simulator.events = queue.handled();
  result.simulator.simulated_ranks = static_cast<int>(ranks.size());
  result.simulator.rank_classes = experiment.layout.classes;
  result.simulator.fidelity = "flow";
  return result;
}

RunOutput Simulation::State::make_output() {
  RunOutput output;
  output.logs = logger->take();
  for (StepLog& log : output.logs) add_transfer_starts(log);
  const std::uint32_t slowest = slowest_slot();
  const StepLog& log = output.logs[slowest];
  const StepAnalysis analysis = analyse(log, lone_kernel_times(slowest));

  Result& result = output.result;
  result = describe_run();
  result.rank = log.rank;
  result.step = analysis.step;
  result.step.time = mean_step(slowest);
  result.critical_path = analysis.critical_path;
  result.warnings.insert(result.warnings.end(), model.notes().begin(), model.notes().end());
  fill_throughput(result);
  const std::uint32_t tracked = memory_depends_on_time ? slowest : 0;
  fill_memory(result, tracked, &output.logs[tracked]);
  fill_collectives(result, log, analysis);
  fill_links(result);
  const auto busy = stream_occupancy(log, picture_columns);
  for (std::size_t stream = 0; stream < busy.size(); ++stream) {
    const bool used = std::any_of(busy[stream].begin(), busy[stream].end(),
                                  [](double share) { return share > 0; });
    if (used) {
      result.streams.push_back({experiment.program->streams[stream].name, busy[stream]});
    }
  }
  return output;
}

}  // namespace shardsim::scenario

// From a finished simulation to its result.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "models/scenario/memory_timeline.hpp"
#include "models/scenario/simulation_state.hpp"
#include "models/scenario/timeline.hpp"

namespace shardsim::scenario {

using simcore::Bytes;
using simcore::SimTime;

namespace {

constexpr int picture_columns = 72;
constexpr std::size_t timeline_points = 400;

}  // namespace

SimTime Simulation::State::mean_step(std::uint32_t slot) const {
  SimTime sum;
  for (const SimTime time : step_times[slot]) sum += time;
  return SimTime::picoseconds(sum.picoseconds() /
                              static_cast<std::int64_t>(step_times[slot].size()));
}

/// The slot with the longest step. Where all wait for one another, the one that computes slowest.
std::uint32_t Simulation::State::slowest_slot() const {
  std::uint32_t slowest = 0;
  for (std::uint32_t slot = 1; slot < own_slots; ++slot) {
    const SimTime time = mean_step(slot);
    const SimTime worst = mean_step(slowest);
    if (time > worst ||
        (time == worst && ranks[slot].compute_slowdown > ranks[slowest].compute_slowdown)) {
      slowest = slot;
    }
  }
  return slowest;
}

const StepLog& Simulation::State::slowest_log(const std::vector<StepLog>& logs) const {
  const std::uint32_t slowest = slowest_slot();
  const StepLog* best = &logs.front();
  for (const StepLog& log : logs) {
    if (log.slot == slowest) return log;
    if (mean_step(log.slot) > mean_step(best->slot)) best = &log;
  }
  return *best;
}

/// What each kernel takes on the slot's GPU without collectives beside it.
std::vector<SimTime> Simulation::State::lone_kernel_times(std::uint32_t slot) const {
  std::vector<SimTime> lone = times[0]->by_load[0];
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
    const auto& all = transfers[ranks[log.slot].communicators[id].instance];
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
    const std::uint32_t instance = ranks[log.slot].communicators[id].instance;
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
  const double window = std::max(1e-12, (now() - statistics_begin).seconds());
  for (std::size_t i = 0; i < shown; ++i) {
    result.links.push_back(LinkResult{
        experiment.graph.link_name(all[i].link), Bytes{std::llround(all[i].statistics.bytes)},
        all[i].statistics.busy.seconds() / window, all[i].statistics.peak_share});
  }
}

void Simulation::State::fill_jobs(Result& result) const {
  for (std::size_t i = 0; i < experiment.others.size(); ++i) {
    const JobPlan& job = experiment.others[i];
    JobResult& one = result.jobs.emplace_back();
    one.name = job.name;
    one.background = job.background;
    one.gpus = static_cast<int>(job.gpus.size());
    one.nodes = job.nodes;
    one.steps = static_cast<int>(other_steps[i].times.size());
    one.rank_classes = job.layout.classes;
    if (const auto broken = failed_of(static_cast<int>(i) + 1)) {
      result.warnings.push_back(fmt::format("job '{}' stands still: {}", job.name,
                                            nccl::to_text(*backend.failure(*broken))));
    }
    if (one.steps == 0) continue;
    SimTime sum;
    for (const SimTime time : other_steps[i].times) sum += time;
    one.step_time = SimTime::picoseconds(sum.picoseconds() / one.steps);
    one.tokens_per_s = job.tokens_per_step / one.step_time.seconds();
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
  result.memory.host = host;
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

/// What the step consists of is that of one measured step, its time the mean of all.
void Simulation::State::warn_of_unequal_steps(Result& result, SimTime shown) const {
  const std::vector<SimTime>& all = step_times[slowest_slot()];
  const auto [least, most] = std::ranges::minmax(all);
  if (most.seconds() <= least.seconds() * 1.001) return;
  result.warnings.push_back(
      fmt::format("the {} measured steps take {} to {}: step time and throughput are of their "
                  "mean, {}; parts, collectives and streams are of the last, {}",
                  all.size(), simcore::to_text(least), simcore::to_text(most),
                  simcore::to_text(result.step.time), simcore::to_text(shown)));
}

/// A deviation that the measured steps do not see: whoever wrote it expects it in the result.
void Simulation::State::warn_of_unseen_perturbations(Result& result) const {
  const std::vector<PerturbationSpec>& all = experiment.scenario.spec.perturb;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const PerturbationSpec& one = all[i];
    SimTime from = one.at.value_or(SimTime{});
    SimTime to = one.until.value_or(SimTime::never());
    if (one.pause) {
      from = one.pause->at;
      to = one.pause->at + one.pause->length;
    }
    if (one.dies_at) from = *one.dies_at;
    if (from > now()) {
      result.warnings.push_back(
          fmt::format("perturb[{}] begins at {}, after the last step, which ends at {}", i,
                      simcore::to_text(from), simcore::to_text(now())));
    } else if (to <= statistics_begin) {
      result.warnings.push_back(fmt::format(
          "perturb[{}] is over at {}, before the measured steps, which begin at {}: less "
          "steps.warmup shows it",
          i, simcore::to_text(to), simcore::to_text(statistics_begin)));
    }
  }
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
namespace {

std::string name_of(Fidelity fidelity) {
  const auto& names = simcore::EnumNames<Fidelity>::values;
  const auto found = std::ranges::find(names, fidelity, &simcore::EnumName<Fidelity>::second);
  return std::string(found->first);
}

}  // namespace

Result Simulation::State::describe_run() const {
  Result result;
  result.scenario_name = experiment.scenario.spec.name;
  result.scenario_file = experiment.scenario.file.string();
  result.overrides = experiment.scenario.overrides;
  result.gpus = static_cast<int>(experiment.gpus.size());
  result.nodes = experiment.nodes;
  result.gpu = experiment.gpu.name;
  result.topology = experiment.topology.spec.name;
  result.warnings = experiment.warnings;
  result.simulator.events = events();
  result.simulator.simulated_ranks = experiment.layout.classes;
  for (const JobPlan& job : experiment.others) {
    result.simulator.simulated_ranks += job.layout.classes;
  }
  result.simulator.rank_classes = experiment.layout.classes;
  result.simulator.fidelity = name_of(experiment.scenario.spec.fidelity);
  return result;
}

RunOutput Simulation::State::make_output() {
  RunOutput output;
  output.logs = logger->take();
  for (StepLog& log : output.logs) add_transfer_starts(log);
  const StepLog& log = slowest_log(output.logs);
  const StepAnalysis analysis = analyse(log, lone_kernel_times(log.slot));

  Result& result = output.result;
  result = describe_run();
  result.rank = log.rank;
  result.step = analysis.step;
  result.step.time = mean_step(slowest_slot());
  result.critical_path = analysis.critical_path;
  result.warnings.insert(result.warnings.end(), experiment.planning->model.notes().begin(),
                         experiment.planning->model.notes().end());
  warn_of_unequal_steps(result, analysis.step.time);
  warn_of_unseen_perturbations(result);
  fill_throughput(result);
  const StepLog& tracked = memory_depends_on_time ? log : output.logs.front();
  fill_memory(result, tracked.slot, &tracked);
  fill_collectives(result, log, analysis);
  fill_links(result);
  fill_jobs(result);
  const auto busy = stream_occupancy(log, picture_columns);
  for (std::size_t stream = 0; stream < busy.size(); ++stream) {
    const bool used = std::any_of(busy[stream].begin(), busy[stream].end(),
                                  [](double share) { return share > 0; });
    if (used) {
      result.streams.push_back({experiment.program->streams[stream].name, busy[stream]});
    }
  }
  for (StepLog& one : output.logs) {
    if (!replayed.empty()) one.slot = replayed[one.slot];
  }
  return output;
}

std::vector<LinkLoad> Simulation::link_loads() const {
  const network::Graph& graph = state_->experiment.graph;
  const double window = std::max(1e-12, (state_->queue.now() - state_->statistics_begin).seconds());
  std::vector<LinkLoad> loads;
  loads.reserve(graph.links().size());
  for (network::LinkId link = 0; link < graph.links().size(); ++link) {
    const network::LinkStatistics statistics = state_->flows.statistics(link);
    const double most = state_->flows.bandwidth(link).bytes_per_second * window;
    loads.push_back(LinkLoad{statistics.bytes, statistics.busy.seconds() / window,
                             most > 0 ? statistics.bytes / most : 0, statistics.peak_share});
  }
  return loads;
}

}  // namespace shardsim::scenario

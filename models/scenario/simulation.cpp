#include "models/scenario/simulation.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "models/cuda/memory_rehearsal.hpp"
#include "models/gpu/speed_spread.hpp"
#include "models/scenario/host_memory.hpp"
#include "models/scenario/simulation_state.hpp"

namespace shardsim::scenario {

using simcore::Bytes;
using simcore::SimTime;

Simulation::State::State(const Experiment& given, const SimulationOptions& wishes)
    : experiment(given),
      options(wishes),
      flows(given.graph, queue),
      backend(given.graph, flows, queue, given.planning->model) {
  if (options.check) checks = std::make_unique<RunChecks>(given, flows, backend, queue);
  set_up_ranks();
  if (!given.perturbations.link_changes.empty()) {
    link_schedule = std::make_unique<network::LinkSchedule>(
        given.perturbations.link_changes, given.graph.links().size(), flows, queue, backend);
  }
  listen_to_collectives();
  host =
      host_memory(*experiment.program, experiment.gpus, experiment.graph, experiment.topology.spec);
  others_short = shortage_of_others();
  if (!start_lockstep()) start_runtime(backend, queue);
}

void Simulation::State::start_runtime(cuda::CollectiveBackend& collectives,
                                      simcore::EventQueue& events) {
  runtime = std::make_unique<cuda::Runtime>(experiment.runtime, ranks, collectives, events);
  if (checks) {
    if (&events != &queue) checks->watch(events);
    checks->watch(*runtime, ranks);
  }
  listen();
  if (options.recent > 0) keep_recent();
  if (options.trace_allocator) listen_to_allocator();
  runtime->start();
}

CollectiveLoads Simulation::State::collective_loads(const cuda::Program& program,
                                                    const RankLayout& layout,
                                                    std::uint32_t first_instance) {
  CollectiveLoads loads(program);
  for (std::size_t i = 0; i < loads.largest().size(); ++i) {
    const cuda::CollectiveSpec& spec = program.collectives[loads.largest()[i]];
    if (spec.fixed_time) continue;
    const std::uint32_t instance =
        first_instance + layout.memberships[0][spec.communicator].instance;
    const nccl::CollectiveTiming* timing = backend.timing(instance, spec);
    if (timing == nullptr || timing->traffic == nullptr) continue;
    double rate = timing->traffic->rate.bytes_per_second;
    if (timing->cap.bytes_per_second > 0) rate = std::min(rate, timing->cap.bytes_per_second);
    if (rate <= 0 || timing->flow_bytes <= 0) continue;
    // Its mean rate, so that a collective touches its bytes once however long its latency is.
    const double seconds = timing->latency.seconds() + timing->flow_bytes / rate;
    const double touched = memory_touches(spec.kind) * timing->flow_bytes / seconds;
    loads.set(i, {timing->channels, {touched}});
  }
  return loads;
}

void Simulation::State::set_up_ranks() {
  const auto& ops = experiment.program->ops;
  memory_depends_on_time = std::any_of(ops.begin(), ops.end(), [](const cuda::Op& op) {
    return op.code == cuda::OpCode::record_stream;
  });
  own_slots = experiment.layout.ranks.size();
  own_left = own_slots;
  if (!memory_depends_on_time && own_slots > 1) {
    device_calls = cuda::rehearse_memory(*experiment.program, experiment.runtime);
  }
  add_job(*experiment.program, experiment.layout, 0);
  for (std::size_t i = 0; i < experiment.others.size(); ++i) {
    const JobPlan& other = experiment.others[i];
    other_steps.push_back({static_cast<std::uint32_t>(ranks.size()), {}, {}, 0, 0});
    add_job(*other.program, other.layout, static_cast<int>(i) + 1);
  }
  step_begin.assign(ranks.size(), SimTime{});
  retries_in_warmup.assign(ranks.size(), 0);
  step_times.assign(ranks.size(), {});
  persistent.assign(ranks.size(), Bytes{});
}

namespace {

/// The GPU whose pace a job of `ranks` takes. Speeds that the scenario draws need no expectation.
gpu::GpuSpec pace_setter(const Experiment& experiment, std::size_t ranks) {
  const ScenarioSpec& spec = experiment.scenario.spec;
  const bool drawn = std::ranges::any_of(spec.perturb, [](const PerturbationSpec& one) {
    return one.jitter && !one.rank && one.jitter->gpu.value > 0;
  });
  const simcore::Fraction spread = drawn ? simcore::Fraction{0} : spec.cluster.gpu_speed_spread;
  return gpu::slowest_of(experiment.gpu, static_cast<std::int64_t>(ranks), spread);
}

}  // namespace

void Simulation::State::add_job(const cuda::Program& program, const RankLayout& layout, int job) {
  const auto first_instance = static_cast<std::uint32_t>(transfers.size());
  for (const nccl::CommunicatorSpec& one : layout.communicators) backend.add_communicator(one);
  transfers.resize(first_instance + layout.communicators.size());
  job_of_instance.resize(transfers.size(), job);
  times.push_back(std::make_unique<cuda::KernelTimes>(
      kernel_times(program, pace_setter(experiment, layout.slot_of_rank.size()),
                   collective_loads(program, layout, first_instance))));
  for (std::size_t slot = 0; slot < layout.ranks.size(); ++slot) {
    cuda::RankSetup setup;
    setup.rank = layout.ranks[slot];
    setup.program = &program;
    setup.kernel_times = times.back().get();
    setup.communicators = layout.memberships[slot];
    for (cuda::Membership& one : setup.communicators) one.instance += first_instance;
    setup.tracks_memory = job == 0 && (slot == 0 || memory_depends_on_time);
    if (job == 0) {
      setup.compute_slowdown = experiment.perturbations.slowdown(setup.rank);
      setup.pace = experiment.perturbations.pace(setup.rank);
      setup.device_calls = &device_calls;
    } else {
      setup.job = experiment.others[static_cast<std::size_t>(job) - 1].name;
      setup.repeats_last_step = true;
    }
    ranks.push_back(setup);
    job_of_slot.push_back(job);
  }
}

void Simulation::State::listen() {
  // A log takes up to a megabyte.
  constexpr std::size_t most_logs = 2048;
  std::vector<bool> wanted(ranks.size(), false);
  std::fill_n(wanted.begin(), std::min(own_slots, most_logs), true);
  if (own_slots > most_logs) {
    for (const std::uint32_t slot : named_slots()) wanted[slot] = true;
  }
  logger = std::make_unique<StepLogger>(*runtime, ranks, wanted, steps() - 1);
  memory_logger = std::make_unique<MemoryLogger>(*runtime, ranks);
  runtime->step_boundary.listen([this](const cuda::StepRecord& record) {
    if (job_of_slot[record.slot] == 0) {
      note_step(record);
    } else {
      note_other_step(record);
    }
  });
}

void Simulation::State::listen_to_collectives() {
  backend.collective_finished.listen([this](const nccl::CollectiveRecord& record) {
    transfers[record.instance].push_back(record.last_arrival);
    CollectiveChoice& choice = choices[{record.instance, record.spec->kind}];
    if (record.spec->bytes.count <= choice.bytes) return;
    choice = CollectiveChoice{std::string(record.algorithm), std::string(record.protocol),
                              record.channels, record.spec->bytes.count};
  });
}

void Simulation::State::note_step(const cuda::StepRecord& record) {
  if (record.begins) {
    step_begin[record.slot] = record.time;
    if (record.step == first_measured()) {
      retries_in_warmup[record.slot] = runtime->memory(record.slot).num_alloc_retries;
    }
    persistent[record.slot] = runtime->memory(record.slot).allocated;
    if (record.slot == 0 && record.step == first_measured() && !replay) {
      flows.reset_statistics();
      statistics_begin = queue.now();
    }
    return;
  }
  for (OtherSteps& other : other_steps) other.since_own = 0;
  if (record.slot == 0) finished_steps = record.step + 1;
  if (record.step + 1 == steps()) --own_left;
  if (record.step >= first_measured()) {
    step_times[record.slot].push_back(record.time - step_begin[record.slot]);
  }
}

void Simulation::State::note_other_step(const cuda::StepRecord& record) {
  constexpr std::uint32_t steps_between_looks = 16;
  OtherSteps& steps = other_steps[static_cast<std::size_t>(job_of_slot[record.slot]) - 1];
  if (record.slot != steps.slot) return;
  if (record.begins) {
    steps.begin = record.time;
    return;
  }
  ++steps.since_own;
  if (steps.since_own % steps_between_looks == 0) given_up |= own_job_stands_still();
  if (steps.since_own >= endless_steps) {
    outrun = static_cast<std::size_t>(job_of_slot[record.slot]) - 1;
    given_up = true;
  }
  if (steps.seen++ > 0) steps.times.push_back(record.time - steps.begin);
}

/// The other jobs go on without end then.
bool Simulation::State::own_job_stands_still() const {
  if (failed_of(0)) return true;
  for (std::uint32_t slot = 0; slot < own_slots; ++slot) {
    if (runtime->can_go_on(slot)) return false;
  }
  return true;
}

/// A communicator of the job on which something went wrong, by its instance.
std::optional<std::uint32_t> Simulation::State::failed_of(int job) const {
  for (std::uint32_t i = 0; i < job_of_instance.size(); ++i) {
    if (job_of_instance[i] == job && backend.failure(i) != nullptr) return i;
  }
  return std::nullopt;
}

void Simulation::State::listen_to_allocator() {
  runtime->allocator_acted.listen([this](const cuda::AllocatorRecord& record) {
    if (record.slot == 0) allocator_records.push_back(record);
  });
}

Simulation::Simulation(const Experiment& experiment, const SimulationOptions& options)
    : state_(std::make_unique<State>(experiment, options)) {}

Simulation::~Simulation() = default;

bool Simulation::advance(std::uint64_t events) {
  if (state_->violated() || state_->others_short) return false;
  if (!state_->runtime) return state_->advance_lockstep();
  for (std::uint64_t i = 0; i < events; ++i) {
    if (state_->runtime->out_of_memory() || state_->now() > latest_moment) return false;
    if (state_->own_job_finished() || state_->given_up) return false;
    if (state_->finished_steps > 0 && state_->host_short()) return false;
    if (!state_->step() || state_->violated()) return false;
  }
  return true;
}

double Simulation::progress() const {
  if (state_->lockstep) return state_->lockstep->progress();
  return static_cast<double>(state_->finished_steps) / std::max(1U, state_->steps());
}

std::uint64_t Simulation::events() const { return state_->events(); }

std::expected<RunOutput, RunFailure> Simulation::finish() {
  if (state_->violated()) return std::unexpected(state_->invariant_failure());
  if (auto failure = state_->failure()) return std::unexpected(std::move(*failure));
  if (state_->checks) {
    state_->checks->finish(state_->queue.now(), *state_->runtime, state_->own_slots);
    if (state_->violated()) return std::unexpected(state_->invariant_failure());
  }
  return state_->make_output();
}

RunFailure Simulation::stop(const std::string& why) {
  if (state_->violated()) return state_->invariant_failure();
  return state_->stopped(why);
}

std::optional<CheckSummary> Simulation::checks() const {
  if (!state_->checks) return std::nullopt;
  return state_->checks->summary(events());
}

AllocatorTrace Simulation::allocator_trace() {
  AllocatorTrace trace;
  trace.program = state_->experiment.program.get();
  trace.spec = state_->experiment.runtime.allocator;
  trace.records = std::move(state_->allocator_records);
  if (state_->runtime) trace.segments = state_->runtime->memory_snapshot(0);
  return trace;
}

void Simulation::State::keep_recent() {
  runtime->op_finished.listen([this](const cuda::OpRecord& record) {
    if (record.slot != 0) return;
    if (recent.size() == options.recent) recent.pop_front();
    recent.push_back(record);
  });
}

}  // namespace shardsim::scenario

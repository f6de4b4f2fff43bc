#include "models/scenario/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "models/cuda/collective_name.hpp"
#include "models/cuda/memory_rehearsal.hpp"
#include "models/gpu/speed_spread.hpp"
#include "models/scenario/simulation_state.hpp"

namespace shardsim::scenario {

using simcore::Bytes;
using simcore::SimTime;

namespace {

/// A run stops here: sums of times stay exact below it.
constexpr SimTime latest_moment = SimTime::microseconds(4'000'000'000'000);
constexpr std::string_view beyond_range = "the run takes more than 46 days of simulated time";

/// More steps than any job does in the time of another's: simulating them all takes too long.
constexpr std::uint32_t endless = 10'000;

std::string operation_text(const cuda::CollectiveSpec& spec, std::string_view role) {
  return fmt::format("{} of {} on communicator {}", cuda::collective_name(spec.kind),
                     simcore::to_text(spec.bytes), role);
}

/// When a link of a perturbation carries nothing.
std::string outage_text(const PerturbationSpec& one) {
  std::string text;
  if (one.at) text += " from " + simcore::to_text(*one.at) + (one.until ? "" : " on");
  if (one.until) text += " until " + simcore::to_text(*one.until);
  return text;
}

bool out_at(const PerturbationSpec& one, SimTime time) {
  return one.link && one.bandwidth->value <= 0 && one.at.value_or(SimTime{}) <= time &&
         time < one.until.value_or(SimTime::never());
}

/// Of a report with a line a rank.
std::vector<std::string> first_lines(std::vector<std::string> lines) {
  constexpr std::size_t most = 16;
  if (lines.size() <= most) return lines;
  const std::size_t more = lines.size() - most;
  lines.resize(most);
  lines.push_back(fmt::format("and {} more ranks", more));
  return lines;
}

}  // namespace

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

/// Only the own job's memory is followed in time; of the others, what certainly does not fit.
std::optional<RunFailure> Simulation::State::shortage_of_others() const {
  for (const JobPlan& job : experiment.others) {
    if (job.background) continue;
    const auto shortage = cuda::rehearse_shortage(*job.program, experiment.runtime);
    if (!shortage) continue;
    const cuda::AllocationSpec& wanted =
        job.program->allocations[job.program->ops[shortage->op].name];
    RunFailure failure;
    failure.kind = FailureKind::out_of_memory;
    failure.message =
        fmt::format("out of memory: job '{}' asks for {} for {} ({}) beside {} in use", job.name,
                    simcore::to_text(shortage->requested), job.program->names[wanted.name],
                    memory_kind_name(wanted.kind), simcore::to_text(shortage->allocated));
    return failure;
  }
  return std::nullopt;
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
  if (steps.since_own >= endless) {
    outrun = static_cast<std::size_t>(job_of_slot[record.slot]) - 1;
    given_up = true;
  }
  if (steps.seen++ > 0) steps.times.push_back(record.time - steps.begin);
}

/// The other jobs go on without end then.
bool Simulation::State::own_job_stands_still() const {
  if (own_failure()) return true;
  for (std::uint32_t slot = 0; slot < own_slots; ++slot) {
    if (runtime->can_go_on(slot)) return false;
  }
  return true;
}

/// A communicator of the own job on which something went wrong, by its instance.
std::optional<std::uint32_t> Simulation::State::own_failure() const {
  for (std::uint32_t i = 0; i < experiment.layout.communicators.size(); ++i) {
    if (backend.failure(i) != nullptr) return i;
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

RunFailure Simulation::State::invariant_failure() const {
  RunFailure failure{to_text(*checks->violation()),
                     {"the simulator is wrong here, and its result would be worth nothing: please "
                      "report it with the scenario"}};
  failure.kind = FailureKind::invariant;
  return failure;
}

void Simulation::State::keep_recent() {
  runtime->op_finished.listen([this](const cuda::OpRecord& record) {
    if (record.slot != 0) return;
    if (recent.size() == options.recent) recent.pop_front();
    recent.push_back(record);
  });
}

RunFailure Simulation::State::stopped(const std::string& why) const {
  const cuda::Program& program = *experiment.program;
  StoppedResult stop;
  stop.why = why;
  stop.reached = now();
  stop.step = finished_steps;
  stop.steps = steps();
  for (const cuda::OpRecord& one : recent) {
    const cuda::Op& op = program.ops[one.op];
    stop.operations.push_back(
        {program.streams[op.stream].name, program.names[op.name], one.start, one.end});
  }
  if (runtime) stop.waiting = first_lines(runtime->deadlock_report());
  RunFailure failure;
  failure.kind = FailureKind::over_budget;
  failure.message = fmt::format("stopped: {}", why);
  failure.details.push_back(fmt::format("simulated {} in {} events, in step {} of {}",
                                        simcore::to_text(stop.reached), events(), stop.step + 1,
                                        stop.steps));
  for (const OperationTime& one : stop.operations) {
    failure.details.push_back(fmt::format("{:>12} to {:>12}  {}: {}", simcore::to_text(one.start),
                                          simcore::to_text(one.end), one.stream, one.name));
  }
  failure.details.insert(failure.details.end(), stop.waiting.begin(), stop.waiting.end());
  failure.result = describe_run();
  failure.result->stopped = std::move(stop);
  return failure;
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
      "out of memory: rank {} asked for {} for {} ({}){} in step {} of {}", found.rank,
      simcore::to_text(what.shortage.requested), found.allocation, memory_kind_name(wanted.kind),
      found.operation.empty() ? "" : " at " + found.operation, found.step + 1, steps());
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
  failure.kind = FailureKind::out_of_memory;
  failure.result = describe_run();
  fill_memory(*failure.result, what.slot, nullptr);
  failure.result->memory.fits = false;
  failure.result->out_of_memory = std::move(found);
  return failure;
}

/// Names the operation that goes on so long, or went on, and its slowest link.
RunFailure Simulation::State::too_long() const {
  RunFailure failure{std::string(beyond_range), {}, {}, FailureKind::too_long};
  std::optional<network::LinkId> slowest;
  const auto moving = backend.slowest_moving();
  const auto& longest = backend.longest();
  const auto seconds = [](const auto& one) {
    return static_cast<double>(one.spec->bytes.count) / one.rate.bytes_per_second;
  };
  if (moving && (!longest || seconds(*moving) > longest->time.seconds())) {
    // Latency comes first: it is over, and took the time.
    const bool brief = seconds(*moving) < 60;
    failure.message += fmt::format(": {} {} {}", operation_text(*moving->spec, moving->role),
                                   brief ? "moves only after its latency, at" : "moves at",
                                   simcore::to_text(moving->rate));
    slowest = moving->slowest;
  } else if (longest) {
    failure.message += fmt::format(
        ": {} takes {}, {} of it latency", operation_text(*longest->spec, longest->role),
        simcore::to_text(longest->time), simcore::to_text(longest->latency));
    slowest = longest->slowest;
  }
  if (slowest) {
    const network::Link& link = experiment.graph.links()[*slowest];
    failure.message +=
        fmt::format("; its slowest link is {}: {}, {}", experiment.graph.link_name(*slowest),
                    simcore::to_text(flows.bandwidth(*slowest)), simcore::to_text(link.latency));
  }
  if (runtime) failure.details = first_lines(runtime->deadlock_report());
  return failure;
}

std::optional<RunFailure> Simulation::State::failure() const {
  if (others_short) return others_short;
  if (runtime && runtime->out_of_memory()) return out_of_memory(*runtime->out_of_memory());
  if (now() > latest_moment) return too_long();
  if (own_job_finished()) return std::nullopt;
  RunFailure failure{"deadlock: nothing can go on", {}, {}};
  if (outrun) {
    failure.kind = FailureKind::too_long;
    failure.message = fmt::format(
        "'{}' does {} steps beside the scenario's own job while that does none: too many to "
        "simulate",
        experiment.others[*outrun].name, endless);
    return failure;
  }
  const std::optional<std::uint32_t> broken = own_failure();
  if (runtime) failure.details = runtime->deadlock_report();
  // Data that move so slowly that their end is beyond the range of times are no deadlock.
  if (const auto moving = backend.slowest_moving(); moving && !broken) {
    return too_long();
  }
  if (broken) {
    failure.message = nccl::to_text(*backend.failure(*broken));
    failure.kind = FailureKind::no_route;
  }
  for (const PerturbationSpec& one : experiment.scenario.spec.perturb) {
    if (one.dies_at && *one.dies_at <= now()) {
      failure.message = fmt::format("rank {} died at {}, and the others wait for it", *one.rank,
                                    simcore::to_text(*one.dies_at));
      failure.kind = FailureKind::deadlock;
    }
    if (!broken || !out_at(one, backend.failed_at(*broken))) continue;
    failure.message = fmt::format("no route: a collective needs '{}', whose bandwidth is 0 %{}",
                                  *one.link, outage_text(one));
    if (one.until) {
      failure.message += fmt::format(
          ": at {} it has no other way, and it does not wait for the link to come back (at more "
          "than 0 % it would go on)",
          simcore::to_text(backend.failed_at(*broken)));
    }
    failure.kind = FailureKind::no_route;
  }
  failure.details = first_lines(std::move(failure.details));
  return failure;
}

}  // namespace shardsim::scenario

#include "models/scenario/simulation.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "models/cuda/memory_rehearsal.hpp"
#include "models/scenario/simulation_state.hpp"

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

const network::NicSpec* nics_of(const Experiment& experiment) {
  const auto& nics = experiment.topology.spec.node.nics;
  return nics ? &*nics : nullptr;
}

nccl::DataPath path_of(Fidelity fidelity) {
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

}  // namespace

Simulation::State::State(const Experiment& given, bool trace_allocator)
    : experiment(given),
      flows(given.graph, queue),
      planner(given.topology.spec, ring_hardware(given).compute_capability, given.nccl),
      model(planner,
            nccl::timing_constants(ring_hardware(given).compute_capability, nics_of(given)),
            nccl::nccl_ring_tuning(ring_hardware(given)), path_of(given.scenario.spec.fidelity)),
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

CollectiveLoads Simulation::State::collective_loads() {
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

CollectiveLoad Simulation::State::collective_load(const cuda::CollectiveSpec& spec) {
  const std::uint32_t instance = experiment.layout.memberships[0][spec.communicator].instance;
  const nccl::CollectiveTiming* timing = backend.timing(instance, spec);
  if (timing == nullptr || timing->traffic == nullptr) return {};
  return {timing->channels, {memory_touches(spec.kind) * timing->traffic->rate.bytes_per_second}};
}

void Simulation::State::set_up_ranks() {
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

void Simulation::State::listen() {
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
    CollectiveChoice& choice = choices[{record.instance, record.spec->kind}];
    if (record.spec->bytes.count <= choice.bytes) return;
    choice = CollectiveChoice{std::string(record.algorithm), std::string(record.protocol),
                              record.channels, record.spec->bytes.count};
  });
}

void Simulation::State::listen_to_allocator() {
  runtime->allocator_acted.listen([this](const cuda::AllocatorRecord& record) {
    if (record.slot == 0) allocator_records.push_back(record);
  });
}

void Simulation::State::degrade_links() {
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

}  // namespace shardsim::scenario

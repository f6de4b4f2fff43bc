// Why a simulation has no result: in words for the user, with what is known all the same.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "models/cuda/collective_name.hpp"
#include "models/cuda/memory_rehearsal.hpp"
#include "models/scenario/host_memory.hpp"
#include "models/scenario/simulation_state.hpp"

namespace shardsim::scenario {

using simcore::Bytes;
using simcore::SimTime;

namespace {

constexpr std::string_view beyond_range = "the run takes more than 46 days of simulated time";

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

/// Only the own job's memory is followed in time; of the others, what certainly does not fit.
std::optional<RunFailure> Simulation::State::shortage_of_others() const {
  for (const JobPlan& job : experiment.others) {
    if (job.background) continue;
    const auto on_host =
        host_memory(*job.program, job.gpus, experiment.graph, experiment.topology.spec);
    if (on_host && !on_host->fits()) {
      RunFailure failure;
      failure.kind = FailureKind::out_of_memory;
      failure.message =
          fmt::format("out of host memory: job '{}': {}", job.name, shortage_text(*on_host));
      return failure;
    }
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

RunFailure Simulation::State::invariant_failure() const {
  RunFailure failure{to_text(*checks->violation()),
                     {"the simulator is wrong here, and its result would be worth nothing: please "
                      "report it with the scenario"}};
  failure.kind = FailureKind::invariant;
  return failure;
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
  if (host_short()) failure.details.push_back("besides, " + shortage_text(*host));
  failure.kind = FailureKind::out_of_memory;
  failure.result = describe_run();
  fill_memory(*failure.result, what.slot, nullptr);
  failure.result->memory.fits = false;
  failure.result->out_of_memory = std::move(found);
  return failure;
}

/// The GPU's memory is that of the step in which the host's ran out.
RunFailure Simulation::State::out_of_host_memory() const {
  OutOfMemoryResult found;
  found.on_host = true;
  found.kind = first_without_place(*host);
  found.allocation = fmt::format("{} in host memory", memory_kind_name(found.kind));
  const auto last = static_cast<std::size_t>(found.kind);
  cuda::MemoryShortage& shortage = found.shortage;
  shortage.requested = shortage.segment = host->by_kind[last];
  shortage.capacity = *host->capacity;
  for (std::size_t kind = 0; kind < last; ++kind) {
    shortage.allocated_by_kind[kind] = host->by_kind[kind];
    shortage.allocated += host->by_kind[kind];
  }
  shortage.reserved = shortage.allocated;
  RunFailure failure;
  failure.message = fmt::format("out of host memory: {}", shortage_text(*host));
  const auto largest = std::ranges::max_element(host->by_kind);
  for (auto part = host->by_kind.begin(); part != host->by_kind.end(); ++part) {
    if (part->count == 0) continue;
    const auto kind = static_cast<cuda::MemoryKind>(part - host->by_kind.begin());
    failure.details.push_back(
        fmt::format("held: {:>11}  {}{}{}", simcore::to_text(*part), memory_kind_name(kind),
                    kind == cuda::MemoryKind::optimizer
                        ? ""
                        : ", pinned: each tensor in a block of a power of two bytes",
                    part == largest ? " (the largest part)" : ""));
  }
  failure.kind = FailureKind::out_of_memory;
  failure.result = describe_run();
  fill_memory(*failure.result, 0, nullptr);
  failure.result->memory.fits = false;
  failure.result->out_of_memory = std::move(found);
  return failure;
}

/// Not a link of a node that belongs to another job.
bool Simulation::State::own_job_may_use(const std::string& link) const {
  const network::Graph& graph = experiment.graph;
  std::set<std::int32_t> own{-1};  // the fabric's switches are everybody's
  for (const int rank : experiment.gpus) own.insert(graph.node_of(rank));
  const auto links = graph.links_named(link);
  return links && std::ranges::any_of(*links, [&](network::LinkId id) {
           const network::Link& one = graph.links()[id];
           return own.contains(graph.vertices()[one.from].node) &&
                  own.contains(graph.vertices()[one.to].node);
         });
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
  if (host_short() && finished_steps > 0) return out_of_host_memory();
  if (now() > latest_moment) return too_long();
  if (own_job_finished()) return std::nullopt;
  RunFailure failure{"deadlock: nothing can go on", {}, {}};
  if (outrun) {
    failure.kind = FailureKind::too_long;
    const JobPlan& busy = experiment.others[*outrun];
    failure.message = fmt::format(
        "'{}' does {} {} beside the scenario's own job while that does no step: too many to "
        "simulate{}",
        busy.name, endless_steps, busy.background ? "exchanges" : "steps",
        busy.background ? "; more bytes an exchange, or a longer gap, make them fewer" : "");
    return failure;
  }
  const std::optional<std::uint32_t> broken = failed_of(0);
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
    if (!own_job_may_use(*one.link)) continue;
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

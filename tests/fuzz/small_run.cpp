#include "tests/fuzz/small_run.hpp"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "models/scenario/accuracy/forecast_interval.hpp"
#include "models/scenario/experiment.hpp"
#include "models/scenario/kineto_trace.hpp"
#include "models/scenario/memory_snapshot.hpp"
#include "models/scenario/simulation.hpp"
#include "models/scenario/summary.hpp"
#include "models/scenario/timeline.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

constexpr std::uint64_t most_events = 20'000;

bool small_workload(const training::WorkloadSpec& workload, const scenario::StepsSpec& steps) {
  constexpr std::int64_t most_passes = 200;
  std::int64_t blocks = 32;
  if (workload.explicit_times) blocks = workload.explicit_times->blocks;
  if (workload.model && workload.model->inline_spec) blocks = workload.model->inline_spec->layers;
  return blocks <= most_passes && workload.gradient_accumulation <= most_passes &&
         blocks * workload.gradient_accumulation * (steps.warmup + steps.measure) <= most_passes;
}

void check_json(const std::string& text) {
  require(nlohmann::json::accept(text), "an output that is no JSON");
}

void write_outputs(const scenario::Experiment& experiment, const scenario::Simulation& simulation,
                   scenario::RunOutput& output) {
  output.result.interval =
      scenario::step_interval(scenario::facts_of(experiment), output.result.step.time, {});
  check_json(scenario::to_json(output.result));
  std::ostringstream timeline;
  scenario::write_timeline(timeline, output.logs);
  check_json(timeline.str());
  std::ostringstream trace;
  scenario::write_kineto_trace(trace, experiment, output.logs, experiment.layout.ranks.front());
  check_json(trace.str());
  require(!scenario::summarise(output.result, {}).empty(), "a summary without words");
  for (const scenario::LinkLoad& load : simulation.link_loads()) {
    require(load.bytes >= 0 && load.busy_fraction >= 0 && load.busy_fraction <= 1.000001 &&
                load.peak_share <= 1.000001,
            "a link carried more than it can");
  }
}

}  // namespace

bool is_small(const scenario::ScenarioSpec& spec) {
  constexpr std::int64_t most_nodes = 4;
  const bool other = std::ranges::all_of(spec.jobs, [&](const scenario::JobSpec& job) {
    return small_workload(job.workload, spec.steps);
  });
  return spec.cluster.nodes <= most_nodes && spec.cluster.gpus_per_node.value_or(8) <= 8 && other &&
         small_workload(spec.workload, spec.steps);
}

void build_and_run(scenario::LoadedScenario scenario, simcore::Diagnostics& diagnostics) {
  static scenario::InputCache inputs;
  if (!is_small(scenario.spec)) return;
  scenario::ExperimentOptions options;
  options.data = shipped_data();
  options.inputs = &inputs;
  // NCCL's search on eight GPUs takes most of the time, and is the same for all of them.
  std::optional<scenario::Experiment> experiment;
  if (!scenario.spec.cluster.gpus_per_node) {
    scenario::LoadedScenario smaller = scenario;
    smaller.spec.cluster.gpus_per_node = 2;
    simcore::Diagnostics ignored;
    experiment = scenario::build_experiment(std::move(smaller), options, ignored);
  }
  if (!experiment) {
    experiment = scenario::build_experiment(std::move(scenario), options, diagnostics);
  }
  check_messages(!experiment, diagnostics);
  constexpr int most_gpus = 64;
  if (!experiment || experiment->graph.gpu_count() > most_gpus) return;
  scenario::SimulationOptions wishes;
  wishes.trace_allocator = true;
  scenario::Simulation simulation(*experiment, wishes);
  bool more = true;
  for (std::uint64_t done = 0; more && done < most_events; done = simulation.events() + 1) {
    more = simulation.advance(most_events / 4);
  }
  if (more) return;
  auto output = simulation.finish();
  std::ostringstream snapshot;
  scenario::write_memory_snapshot(snapshot, simulation.allocator_trace());
  if (!output) {
    require(!output.error().message.empty(), "a failure without a reason");
    if (output.error().result) check_json(scenario::to_json(*output.error().result));
    return;
  }
  write_outputs(*experiment, simulation, *output);
}

}  // namespace shardsim::fuzz

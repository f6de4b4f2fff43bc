// What a run costs: building the experiment, simulating it, and what one more rank adds.
//
//   run_bench                        prints wall time, events per second, and time per rank and
//   step
#include <filesystem>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "models/scenario/experiment.hpp"
#include "models/scenario/simulation.hpp"

namespace shardsim {
namespace {

const std::filesystem::path root = SHARDSIM_SOURCE_DIR;

scenario::Experiment build(const std::string& name, const std::vector<std::string>& overrides,
                           bool exact_ranks) {
  simcore::Diagnostics diagnostics;
  auto loaded =
      scenario::load_scenario(root / "scenarios" / (name + ".yaml"), overrides, diagnostics);
  scenario::ExperimentOptions options;
  options.data = {root / "topologies", root / "scenarios"};
  options.exact_ranks = exact_ranks;
  auto experiment = scenario::build_experiment(std::move(*loaded), options, diagnostics);
  return std::move(*experiment);
}

constexpr const char* first = "fsdp2-llama-2-7b-4xdgx-h100";

/// From the file to the result, as `shardsim run` does it.
void whole_run(benchmark::State& state) {
  for (auto _ : state) {
    const scenario::Experiment experiment = build(first, {}, false);
    scenario::Simulation simulation(experiment);
    while (simulation.advance(1 << 20)) {
    }
    benchmark::DoNotOptimize(simulation.finish());
  }
}
BENCHMARK(whole_run)->Unit(benchmark::kMillisecond);

void read_and_build(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(build(first, {}, false));
}
BENCHMARK(read_and_build)->Unit(benchmark::kMillisecond);

/// The simulation alone, every rank by itself, on `nodes` nodes of eight.
void every_rank(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  const scenario::Experiment experiment =
      build(first, {"cluster.nodes=" + std::to_string(nodes)}, true);
  std::uint64_t events = 0;
  for (auto _ : state) {
    scenario::Simulation simulation(experiment);
    while (simulation.advance(1 << 20)) {
    }
    events += simulation.finish()->result.simulator.events;
  }
  const double ranks = nodes * 8.0;
  const double steps = experiment.program->step_count;
  state.counters["events/s"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
  state.counters["s/rank/step"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * ranks * steps,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(every_rank)->Arg(1)->Arg(4)->Arg(16)->Unit(benchmark::kMillisecond);

/// One rank standing for all.
void one_rank(benchmark::State& state) {
  const auto nodes = static_cast<int>(state.range(0));
  const scenario::Experiment experiment =
      build(first, {"cluster.nodes=" + std::to_string(nodes)}, false);
  for (auto _ : state) {
    scenario::Simulation simulation(experiment);
    while (simulation.advance(1 << 20)) {
    }
    benchmark::DoNotOptimize(simulation.finish());
  }
}
BENCHMARK(one_rank)->Arg(4)->Arg(128)->Arg(2048)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardsim

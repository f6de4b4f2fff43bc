// What messages of collectives cost: rings, trees, NVLink switches and PAT, every rank and message
// simulated. `messages/s` counts the slices that ranks send, per CPU second.
#include <cstdint>
#include <numeric>
#include <vector>

#include <benchmark/benchmark.h>

#include "models/nccl/chunk/channel_engine.hpp"
#include "models/nccl/chunk/ring_program.hpp"
#include "models/nccl/chunk/tree_program.hpp"

namespace {

using namespace shardsim;
using namespace shardsim::nccl;

constexpr int gpus_per_node = 8;
constexpr std::int64_t KiB = 1024;

bool between(int a, int b) { return a / gpus_per_node != b / gpus_per_node; }

ChannelCosts costs() {
  ChannelCosts made;
  made.ps_per_byte = {80, 33, 80, 80};  // 12.5 GB/s, copies 30 GB/s
  made.hops[0] = HopCost{.fixed_ps = 2.3e6, .overlap = 0.01};
  made.hops[1] = HopCost{.fixed_ps = 9e6, .overlap = 0.01};
  return made;
}

template <class Program>
void run_channel(benchmark::State& state, const Program& program, const Slicing& slicing) {
  const ChannelLayout layout = program.layout(between);
  std::int64_t messages = 0;
  NoRecorder nothing;
  for (auto _ : state) {
    ChannelEngine engine(program, layout, slicing, costs(), nothing);
    const ChannelRun run = engine.run(0, SteadyState::simulate);
    benchmark::DoNotOptimize(run.end);
    messages += run.simulated;
  }
  state.counters["messages"] =
      static_cast<double>(messages) / static_cast<double>(state.iterations());
  state.counters["messages/s"] =
      benchmark::Counter(static_cast<double>(messages), benchmark::Counter::kIsRate);
}

std::vector<int> ring_of(int ranks) {
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

// 1 GB from all ranks together, one channel, one loop of it: a message a step and rank.
void ring_all_gather(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const std::int64_t part = 1'000'000'000 / ranks;
  const RingProgram program({Collective::all_gather, part, part, 1}, ring_of(ranks));
  run_channel(state, program, Slicing{});
}
BENCHMARK(ring_all_gather)->Arg(64)->Arg(256)->Arg(1024)->Arg(4096)->Unit(benchmark::kMillisecond);

// NCCL's own chunks of 2 MiB in two slices, credit of eight steps.
void ring_all_reduce(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  const RingProgram program({Collective::all_reduce, ranks * 2048 * KiB + 12'344, 2048 * KiB, 4},
                            ring_of(ranks));
  run_channel(state, program, Slicing{2, 2, 32 * KiB, 64});
}
BENCHMARK(ring_all_reduce)->Arg(64)->Arg(1024)->Unit(benchmark::kMillisecond);

}  // namespace

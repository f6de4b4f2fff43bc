// Cost of one call of the caching allocator, with the traffic of a training step and at random.
#include <cstdint>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "models/cuda/caching_allocator.hpp"

namespace {

using namespace shardsim::cuda;
using shardsim::simcore::Bytes;

constexpr Bytes capacity{std::int64_t{80} << 30};

AllocatorSpec spec_of(const benchmark::State& state) {
  AllocatorSpec spec;
  spec.expandable_segments = state.range(0) != 0;
  return spec;
}

/// Layers save activations in forward and free them in reverse in backward; every layer gathers its
/// parameters on a second stream, whose blocks the compute stream uses too.
void training_step(benchmark::State& state) {
  constexpr int layers = 80;
  constexpr int tensors = 16;
  CachingAllocator allocator(spec_of(state), capacity);
  std::vector<BlockId> saved(layers * tensors);
  EventKey event = 0;
  const auto gather = [&] {
    allocator.process_events([&](EventKey key) { return key + 2 < event; });
    const BlockId block =
        allocator.allocate(Bytes{400 << 20}, 1, MemoryKind::gathered_parameters).block;
    allocator.record_stream(block, 0);
    for (const StreamId stream : allocator.free(block)) {
      allocator.add_pending_event(block, stream, event++);
    }
  };
  for (auto _ : state) {
    for (int layer = 0; layer < layers; ++layer) {
      gather();
      for (int i = 0; i < tensors; ++i) {
        const Bytes size{(i % 4 == 0 ? 64 << 10 : 24 << 20) + i * 4096};
        saved[static_cast<std::size_t>(layer * tensors + i)] =
            allocator.allocate(size, 0, MemoryKind::activations).block;
      }
    }
    for (int layer = layers - 1; layer >= 0; --layer) {
      gather();
      for (int i = tensors - 1; i >= 0; --i) {
        benchmark::DoNotOptimize(
            allocator.free(saved[static_cast<std::size_t>(layer * tensors + i)]));
      }
    }
  }
  state.SetItemsProcessed(state.iterations() * 2 * layers * (tensors + 2));
}
BENCHMARK(training_step)->ArgName("expandable")->Arg(0)->Arg(1);

/// Sizes from bytes to 100 MiB, two streams, about `live` blocks at a time.
void random_calls(benchmark::State& state) {
  const auto live = static_cast<std::size_t>(state.range(1));
  CachingAllocator allocator(spec_of(state), Bytes{std::int64_t{1} << 50});
  std::mt19937_64 random(1);
  const auto allocate = [&] {
    const std::int64_t size = std::int64_t{1} << (random() % 27);
    const auto stream = static_cast<StreamId>(random() % 2);
    return allocator
        .allocate(Bytes{size + static_cast<std::int64_t>(random() % 4096)}, stream,
                  MemoryKind::other)
        .block;
  };
  std::vector<BlockId> blocks(live);
  for (BlockId& block : blocks) block = allocate();
  for (auto _ : state) {
    BlockId& block = blocks[random() % live];
    benchmark::DoNotOptimize(allocator.free(block));
    block = allocate();
  }
  state.SetItemsProcessed(state.iterations() * 2);
}
BENCHMARK(random_calls)
    ->ArgNames({"expandable", "live"})
    ->Args({0, 100})
    ->Args({0, 1000})
    ->Args({0, 10000})
    ->Args({1, 1000})
    ->Args({1, 10000});

}  // namespace

// Training runs drawn at random: prescribed times, strategy and settings, ranks that differ in
// pace. Equal seeds draw equal runs on every machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/unit/training/strategy_run.hpp"

namespace shardsim::training {

/// Whole numbers; std::uniform_int_distribution differs between libraries.
class Draw {
 public:
  explicit Draw(std::uint32_t seed) : random_(seed) { random_.discard(8); }
  /// From..to, both included.
  std::int64_t number(std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(random_() % static_cast<std::uint32_t>(to - from + 1));
  }
  bool coin() { return number(0, 1) == 1; }
  template <class T, std::size_t Count>
  T one_of(const std::array<T, Count>& values) {
    return values[static_cast<std::size_t>(number(0, static_cast<std::int64_t>(Count) - 1))];
  }

 private:
  std::mt19937 random_;
};

struct DrawnRun {
  ExplicitSpec times;
  TrainingSpec spec;
  GroupSizes groups;
  int accumulation = 1;
  int ranks = 1;  ///< simulated; they stand for a group that differs in pace

  int blocks() const { return static_cast<int>(times.blocks); }
};

inline ExplicitSpec draw_times(Draw& draw) {
  ExplicitSpec spec;
  spec.blocks = draw.number(1, 7);
  for (auto member :
       {&ExplicitSpec::embedding_forward, &ExplicitSpec::block_forward, &ExplicitSpec::head_forward,
        &ExplicitSpec::head_backward, &ExplicitSpec::block_backward,
        &ExplicitSpec::embedding_backward, &ExplicitSpec::optimizer, &ExplicitSpec::copy_in,
        &ExplicitSpec::copy_out, &ExplicitSpec::gradient_copy_in}) {
    spec.*member = simcore::SimTime::microseconds(draw.number(1, 40));
  }
  for (auto member :
       {&ExplicitSpec::all_gather_root, &ExplicitSpec::all_gather_block,
        &ExplicitSpec::reduce_scatter_root, &ExplicitSpec::reduce_scatter_block,
        &ExplicitSpec::all_reduce_root, &ExplicitSpec::all_reduce_block, &ExplicitSpec::ddp_head,
        &ExplicitSpec::ddp_block, &ExplicitSpec::ddp_embedding}) {
    spec.*member = simcore::SimTime::microseconds(draw.number(1, 60));
  }
  return spec;
}

/// FSDP1, FSDP2 or DDP with settings that go together.
inline TrainingSpec draw_strategy(Draw& draw) {
  TrainingSpec spec;
  spec.strategy = draw.one_of(std::array{Strategy::fsdp2, Strategy::fsdp2, Strategy::fsdp1,
                                         Strategy::fsdp1, Strategy::ddp});
  spec.gradient_sync =
      draw.coin() ? GradientSync::every_micro_batch : GradientSync::last_micro_batch;
  if (spec.strategy == Strategy::ddp) {
    spec.static_graph = draw.coin();
    return spec;
  }
  spec.sharding = draw.one_of(std::array{Sharding::full_shard, Sharding::shard_grad_op,
                                         Sharding::hybrid_shard, Sharding::hybrid_shard_zero2});
  if (spec.strategy == Strategy::fsdp1) {
    spec.backward_prefetch.value = draw.one_of(std::array{
        BackwardPrefetchPolicy::pre, BackwardPrefetchPolicy::post, BackwardPrefetchPolicy::none});
    spec.forward_prefetch = draw.number(0, 1);
    spec.limit_all_gathers = draw.coin();
    return spec;
  }
  spec.backward_prefetch.value = draw.number(0, 3);
  spec.forward_prefetch = draw.number(0, 3);
  spec.separate_reduce_scatter_group = draw.number(0, 3) == 0;
  if (spec.hybrid() && draw.number(0, 2) == 0) spec.gradient_sync = GradientSync::all_reduce_last;
  return spec;
}

inline DrawnRun draw_run(std::uint32_t seed) {
  Draw draw(seed);
  DrawnRun run;
  run.times = draw_times(draw);
  run.spec = draw_strategy(draw);
  run.groups = group_sizes(run.spec, 16, 4).value();
  run.accumulation = static_cast<int>(draw.number(1, 3));
  run.ranks = static_cast<int>(draw.number(1, 3));
  return run;
}

/// The steps of each rank; every kernel of every rank takes up to 8 us more than prescribed.
inline std::vector<std::vector<RunStep>> run_drawn(const DrawnRun& run, std::uint32_t seed,
                                                   int steps) {
  Draw draw(seed + 1'000'003);
  ExplicitWorkload workload(run.times, simcore::SimTime::microseconds(draw.number(0, 2)));
  const cuda::Program program =
      record_program(run.spec, workload, run.groups, run.accumulation, steps);
  std::vector<cuda::KernelTimes> times(static_cast<std::size_t>(run.ranks),
                                       prescribed_times(program));
  for (cuda::KernelTimes& rank : times) {
    if (run.ranks == 1) break;
    for (simcore::SimTime& time : rank.by_load[0]) {
      time = time + simcore::SimTime::microseconds(draw.number(0, 8));
    }
  }
  return run_ranks(program, times);
}

inline std::string named(const char* prefix, int unit) { return prefix + std::to_string(unit); }

}  // namespace shardsim::training

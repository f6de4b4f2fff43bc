// What a table of nccl-tests costs: `collective all_reduce -b 8 -e 8G`, planning included.
//
//   collective_bench                 prints wall time by number of nodes of eight H100
#include <filesystem>

#include <benchmark/benchmark.h>

#include "models/scenario/collective_run.hpp"

namespace shardsim {
namespace {

const std::filesystem::path root = SHARDSIM_SOURCE_DIR;

/// In fidelity `flow` 1,024 GPUs are to take less than a second.
void table(benchmark::State& state) {
  for (auto _ : state) {
    simcore::Diagnostics diagnostics;
    const scenario::ClusterRequest request{"dgx-h100", state.range(0), std::nullopt, "2.27.7", {}};
    const auto cluster = scenario::load_collective_cluster(
        request, {root / "topologies", root / "scenarios"}, diagnostics);
    auto run = scenario::CollectiveRun::make(*cluster);
    for (std::int64_t bytes = 8; bytes <= std::int64_t{8} << 30; bytes *= 2) {
      benchmark::DoNotOptimize(run->run({}, bytes));
    }
  }
}
BENCHMARK(table)->Arg(1)->Arg(16)->Arg(128)->Arg(512)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace shardsim

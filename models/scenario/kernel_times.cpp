#include "models/scenario/kernel_times.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include "models/gpu/kernel_model.hpp"

namespace shardsim::scenario {

using simcore::BitRate;
using simcore::SimTime;

double memory_touches(cuda::CollectiveKind kind) {
  switch (kind) {
    case cuda::CollectiveKind::reduce_scatter:
    case cuda::CollectiveKind::all_reduce:
    case cuda::CollectiveKind::reduce:
      return 3;
    default:
      return 2;
  }
}

cuda::KernelTimes kernel_times(const cuda::Program& program, const gpu::GpuSpec& gpu,
                               const CollectiveLoad& load) {
  // Beyond SMs and bandwidth a running collective costs a kernel about 3 % (L2, scheduling):
  // assumed, so that kernels beside communication come to the 19 % that arXiv 2507.03114 measured
  // on average.
  constexpr double remainder = 1.03;
  const gpu::KernelModel model(gpu);
  const std::int64_t sms = gpu.sms - load.channels;
  const BitRate bandwidth{std::max(gpu.memory.bandwidth.bytes_per_second * 0.1,
                                   gpu.memory.bandwidth.bytes_per_second -
                                       load.memory_use.bytes_per_second)};
  cuda::KernelTimes times;
  for (const cuda::KernelSpec& kernel : program.kernels) {
    const SimTime alone = model.time(kernel.work).duration;
    times.alone.push_back(alone);
    if (load.channels == 0) continue;
    if (std::holds_alternative<gpu::FixedWork>(kernel.work)) {
      times.beside_collective.push_back(alone);
      continue;
    }
    const SimTime shared = model.time(kernel.work, sms, bandwidth).duration;
    times.beside_collective.push_back(SimTime::picoseconds(
        std::llround(static_cast<double>(shared.picoseconds()) * remainder)));
  }
  return times;
}

}  // namespace shardsim::scenario

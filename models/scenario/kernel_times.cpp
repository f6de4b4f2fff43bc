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

namespace {

/// Times of all kernels while a set of collectives with this load together is running.
std::vector<SimTime> times_beside(const cuda::Program& program, const gpu::KernelModel& model,
                                  const CollectiveLoad& load) {
  // Beyond SMs and bandwidth a running collective costs a kernel about 3 % (L2, scheduling):
  // assumed, so that kernels beside communication come to the 19 % that arXiv 2507.03114 measured
  // on average.
  constexpr double remainder = 1.03;
  const gpu::GpuSpec& gpu = model.spec();
  const BitRate whole = gpu.memory.bandwidth;
  const BitRate left{std::max(whole.bytes_per_second * 0.1,
                              whole.bytes_per_second - load.memory_use.bytes_per_second)};
  std::vector<SimTime> times;
  for (const cuda::KernelSpec& kernel : program.kernels) {
    const bool prescribed = std::holds_alternative<gpu::FixedWork>(kernel.work);
    if (load.channels == 0 || prescribed) {
      times.push_back(model.time(kernel.work).duration);
      continue;
    }
    const SimTime shared = model.time(kernel.work, gpu.sms - load.channels, left).duration;
    times.push_back(
        SimTime::picoseconds(std::llround(static_cast<double>(shared.picoseconds()) * remainder)));
  }
  return times;
}

}  // namespace

cuda::KernelTimes kernel_times(const cuda::Program& program, const gpu::GpuSpec& gpu,
                               const CollectiveLoads& loads) {
  const gpu::KernelModel model(gpu);
  cuda::KernelTimes times;
  times.collective_bit = loads.load_of_collective;
  const std::size_t sets = std::size_t{1} << loads.loads.size();
  for (std::size_t set = 0; set < sets; ++set) {
    CollectiveLoad sum;
    for (std::size_t i = 0; i < loads.loads.size(); ++i) {
      if ((set >> i & 1) == 0) continue;
      sum.channels += loads.loads[i].channels;
      sum.memory_use.bytes_per_second += loads.loads[i].memory_use.bytes_per_second;
    }
    times.by_load.push_back(times_beside(program, model, sum));
  }
  return times;
}

}  // namespace shardsim::scenario

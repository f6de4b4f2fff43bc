#include "models/gpu/kernel_model.hpp"

#include <algorithm>
#include <cassert>

#include "models/gpu/attention_model.hpp"
#include "models/gpu/gemm_model.hpp"

namespace shardsim::gpu {
namespace {

simcore::SimTime bounded(double seconds) {
  constexpr double longest = 1e6;
  return simcore::SimTime::from_seconds(std::min(seconds, longest));
}

}  // namespace

struct KernelModel::Resources {
  int sms;
  double bandwidth;  // bytes per second of peak left
};

KernelModel::KernelModel(const GpuSpec& spec, PowerState power) : spec_(spec), power_(power) {
  assert(spec.sms >= 1 && spec.memory.bandwidth.bytes_per_second > 0);
}

KernelTiming KernelModel::time(const KernelWork& work) const {
  return time(work, spec_.sms, spec_.memory.bandwidth);
}

KernelTiming KernelModel::time(const KernelWork& work, std::int64_t sms,
                               simcore::BitRate bandwidth) const {
  assert(bandwidth.bytes_per_second > 0);
  const double peak = spec_.memory.bandwidth.bytes_per_second;
  const Resources resources{static_cast<int>(std::clamp<std::int64_t>(sms, 1, spec_.sms)),
                            std::min(bandwidth.bytes_per_second, peak)};
  return std::visit([&](const auto& kernel) { return time_of(kernel, resources); }, work);
}

KernelTiming KernelModel::time_of(const FixedWork& work, const Resources&) const {
  KernelTiming timing;
  timing.duration = work.time;
  timing.arithmetic = work.time;
  return timing;
}

KernelTiming KernelModel::time_of(const GemmWork& work, const Resources& resources) const {
  const double rate = spec_.peak_rate(work.type).flops_per_second;
  const GpuShare share{resources.sms, rate / static_cast<double>(spec_.sms), resources.bandwidth};
  const GemmTime time = gemm_time(work, spec_.gemm_constants(work.type), share, power_);
  KernelTiming timing;
  timing.duration = bounded(time.total);
  timing.arithmetic = bounded(time.arithmetic);
  timing.memory = bounded(time.memory);
  timing.overhead = bounded(time.overhead);
  timing.tile_m = time.tile_m;
  timing.tile_n = time.tile_n;
  timing.split = time.split;
  timing.waves = time.waves;
  return timing;
}

KernelTiming KernelModel::time_of(const AttentionWork& work, const Resources& resources) const {
  const double rate = spec_.peak_rate(work.type).flops_per_second;
  const GpuShare share{resources.sms, rate / static_cast<double>(spec_.sms),
                       resources.bandwidth * spec_.memory_bound.stream.value};
  const AttentionTime time = attention_time(work, choose_constants(spec_.attention, work),
                                            spec_.attention.fixed_time, share, power_);
  KernelTiming timing;
  timing.duration = bounded(time.total);
  timing.arithmetic = bounded(time.arithmetic);
  timing.memory = bounded(time.memory);
  timing.overhead = bounded(time.overhead);
  return timing;
}

KernelTiming KernelModel::time_of(const MemoryBoundWork& work, const Resources& resources) const {
  assert(work.bytes.count >= 0 && work.launches >= 0);
  const double efficiency = spec_.memory_bound.efficiency(work.kind).value;
  KernelTiming timing;
  timing.memory =
      bounded(static_cast<double>(work.bytes.count) / (efficiency * resources.bandwidth));
  timing.overhead = spec_.memory_bound.fixed_time * work.launches;
  timing.duration = timing.memory + timing.overhead;
  return timing;
}

}  // namespace shardsim::gpu

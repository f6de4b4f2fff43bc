// The time of one kernel on one GPU: what the simulated streams ask for each launch.
//
// Models: matrix products (gemm_model.hpp), fused attention (attention_model.hpp), memory-bound
// kernels as bytes over reached bandwidth plus a gap for each launch, prescribed times.
// Assumes: a kernel has the SMs and the bandwidth that it is given for its whole length.
// Leaves out: CPU launch cost (the runtime's), L2 residency between kernels, the SMs that a
// memory-bound kernel needs to fill the bandwidth, power drawn by neighbours.
#pragma once

#include "models/gpu/gpu_spec.hpp"
#include "models/gpu/kernel_work.hpp"
#include "models/gpu/power_state.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::gpu {

/// How long a kernel runs and what it is bound by. `arithmetic` and `memory` overlap: the larger
/// one is the bound, and `duration` is at least the larger plus `overhead`.
struct KernelTiming {
  simcore::SimTime duration;
  simcore::SimTime arithmetic;  ///< busy time of the SMs, quantisation and throttling included
  simcore::SimTime memory;      ///< time to move the bytes
  simcore::SimTime overhead;    ///< launch gaps, reductions, scaling passes
  int tile_m = 0;               ///< output tile of a matrix product; 0 for other kernels
  int tile_n = 0;
  int split = 1;
  double waves = 0;
  bool memory_bound() const { return memory > arithmetic; }
};

class KernelModel {
 public:
  explicit KernelModel(const GpuSpec& spec, PowerState power = PowerState::steady());

  /// On the whole GPU.
  KernelTiming time(const KernelWork& work) const;

  /// Beside a communication kernel: on `sms` SMs (clamped to 1 and what the GPU has), with
  /// `bandwidth` left of the peak memory bandwidth (clamped to the peak; above 0). A kernel of more
  /// than 11 days counts as 11 days.
  KernelTiming time(const KernelWork& work, std::int64_t sms, simcore::BitRate bandwidth) const;

  const GpuSpec& spec() const { return spec_; }

 private:
  struct Resources;
  KernelTiming time_of(const FixedWork& work, const Resources& resources) const;
  KernelTiming time_of(const GemmWork& work, const Resources& resources) const;
  KernelTiming time_of(const AttentionWork& work, const Resources& resources) const;
  KernelTiming time_of(const MemoryBoundWork& work, const Resources& resources) const;

  GpuSpec spec_;
  PowerState power_;
};

}  // namespace shardsim::gpu

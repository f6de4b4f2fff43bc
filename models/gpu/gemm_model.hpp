// Time of a matrix product on one GPU.
//
// Models: output tiles handed to SMs in waves, a tile shape and a split of K chosen as the fastest
// of a fixed menu, prologue and epilogue of each tile, memory traffic of the three matrices joined
// to the arithmetic by a soft roofline knee, the loss of clock under sustained load.
// Assumes: every layout (NN, NT, TN) runs alike; each matrix moves once; dimensions near multiples
// of 8; a library that picks the best tile.
// Leaves out: L2 residency between kernels, the accidents of single library versions (small badly
// quantised shapes vary by up to 1.5x between cuBLAS versions), stream-K schedules.
#pragma once

#include "models/gpu/gpu_spec.hpp"
#include "models/gpu/kernel_work.hpp"
#include "models/gpu/power_state.hpp"

namespace shardsim::gpu {

/// What a kernel may use of the GPU; rates in operations and bytes per second.
struct GpuShare {
  int sms = 1;
  double flops_per_sm = 0;  ///< dense peak of one SM for the kernel's data type
  double bandwidth = 0;     ///< peak memory bandwidth left to the kernel
};

/// Seconds; of the tile and split that finish first.
struct GemmTime {
  double total = 0;
  double arithmetic = 0;  ///< all waves, throttling included
  double memory = 0;      ///< operands and result moved once
  double overhead = 0;    ///< fixed time, reduction of the split, scaling pass of fp8
  int tile_m = 0;
  int tile_n = 0;
  int split = 1;     ///< parts of K computed by different SMs
  double waves = 0;  ///< rounds of one tile an SM; a whole number
};

/// An empty result (m, n or batch of 0) takes no time: no kernel is launched. k of 0 writes zeros.
GemmTime gemm_time(const GemmWork& work, const GemmConstants& constants, const GpuShare& share,
                   PowerState power);

}  // namespace shardsim::gpu

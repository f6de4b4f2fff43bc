// How long each kernel of a program takes on the experiment's GPU, alone and beside a collective.
//
// Models interference as fewer SMs (a collective's channels hold one each) and less memory
// bandwidth (what the collective reads and writes). Assumes one pair of paces for the whole run:
// that of the collectives that move most of the bytes. Leaves out power and cache effects beyond a
// fixed share.
#pragma once

#include "models/cuda/program.hpp"
#include "models/cuda/runtime.hpp"
#include "models/gpu/gpu_spec.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::scenario {

/// What a running collective takes from kernels beside it.
struct CollectiveLoad {
  int channels = 0;             ///< SMs held
  simcore::BitRate memory_use;  ///< HBM traffic
};

/// HBM bytes per byte on the wire: an all-gather reads what it sends and writes what it receives,
/// a reduction reads one operand more.
double memory_touches(cuda::CollectiveKind kind);

cuda::KernelTimes kernel_times(const cuda::Program& program, const gpu::GpuSpec& gpu,
                               const CollectiveLoad& load);

}  // namespace shardsim::scenario

// How long each kernel of a program takes on the experiment's GPU, alone and beside collectives.
//
// Models interference as fewer SMs (a collective's channels hold one each) and less memory
// bandwidth (what the collective reads and writes). Collectives of one kind on one communicator
// count as equal loads: that of the largest. Leaves out power and cache effects beyond a fixed
// share.
#pragma once

#include <cstdint>
#include <vector>

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

/// The loads that a program's collectives put on a GPU, at most 8 different ones.
struct CollectiveLoads {
  std::vector<CollectiveLoad> loads;
  std::vector<std::uint8_t> load_of_collective;  ///< by index into Program::collectives
};

/// HBM bytes per byte on the wire: an all-gather reads what it sends and writes what it receives,
/// a reduction reads one operand more.
double memory_touches(cuda::CollectiveKind kind);

cuda::KernelTimes kernel_times(const cuda::Program& program, const gpu::GpuSpec& gpu,
                               const CollectiveLoads& loads);

}  // namespace shardsim::scenario

// How long each kernel of a program takes on the experiment's GPU, alone and beside collectives.
//
// Models interference as fewer SMs (a collective's channels hold one each) and, from the moment at
// which all ranks have arrived and data move, less memory bandwidth (what the collective reads and
// writes). Collectives of one kind on one communicator count as equal loads: that of the largest.
// Leaves out power and cache effects beyond a fixed share.
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
  simcore::BitRate memory_use;  ///< HBM traffic while data move
};

/// The loads that a program's collectives put on a GPU.
class CollectiveLoads {
 public:
  explicit CollectiveLoads(const cuda::Program& program);

  /// Which collective of the program stands for each load: the largest of a kind and communicator.
  /// Beyond four kinds of one communicator the last stands for the rest.
  const std::vector<cuda::TableIndex>& largest() const { return largest_; }
  /// Sets the load of largest()[index].
  void set(std::size_t index, const CollectiveLoad& load) { loads_[index] = load; }

  /// What each collective of the program adds to the load number, by index.
  std::vector<cuda::LoadStep> steps() const;
  std::size_t load_count() const;
  /// The collectives in flight at a load number.
  CollectiveLoad at(std::size_t load_number) const;

 private:
  struct Place {
    cuda::CommunicatorId communicator = 0;
    std::uint32_t stride = 1;
    std::vector<std::size_t> loads;  ///< its kinds, indices into loads_
  };
  std::vector<cuda::TableIndex> largest_;
  std::vector<CollectiveLoad> loads_;
  std::vector<std::size_t> load_of_collective_;  ///< by index into Program::collectives
  std::vector<Place> places_;                    ///< communicators that run collectives
  std::vector<bool> prescribed_;                 ///< collectives that put no load on the GPU
};

/// HBM bytes per byte on the wire: an all-gather reads what it sends and writes what it receives,
/// a reduction reads one operand more.
double memory_touches(cuda::CollectiveKind kind);

cuda::KernelTimes kernel_times(const cuda::Program& program, const gpu::GpuSpec& gpu,
                               const CollectiveLoads& loads);

}  // namespace shardsim::scenario

// The way from each device to each other one, and how good NCCL holds it to be.
//
// Models: NCCL's breadth-first search, its path types, and its corrections - GPUs without
// peer-to-peer go through the CPU, NICs without GPUDirect too, and a GPU may reach a NIC through a
// neighbour on NVLink (PXN). Assumes that peer-to-peer works wherever NCCL would try it. Leaves out
// GPUs that cannot reach each other at all (NCCL would split such a node).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "models/nccl/planning_options.hpp"
#include "models/nccl/system.hpp"

namespace shardsim::nccl {

struct Path {
  PathType type = PathType::dis;
  float gbytes_per_second = 0;
  std::vector<int> links;  ///< in the order of travel
  int hops() const { return static_cast<int>(links.size()); }
};

class Paths {
 public:
  explicit Paths(const System& system);

  /// From any node to a GPU, CPU, network device or the NVSwitch, by index in System::nodes.
  const Path& between(int from, int to) const { return table_[slot(from, to)]; }
  Path& between(int from, int to) { return table_[slot(from, to)]; }

 private:
  std::size_t slot(int from, int to) const {
    const auto column = static_cast<std::size_t>(column_of_[static_cast<std::size_t>(to)]);
    return column * column_of_.size() + static_cast<std::size_t>(from);
  }

  std::vector<int> column_of_;  ///< by target node
  std::vector<Path> table_;
};

/// Everything that the planner reads off a system. Refers to `system`, which must outlive it.
struct Landscape {
  const System* system = nullptr;
  PlanningOptions options;
  Paths paths;
  std::vector<int> local_gpu;         ///< per network device: the GPU that prefers it, or -1
  float max_gbytes_per_second = 0;    ///< best single path that a channel could use
  float total_gbytes_per_second = 0;  ///< best sum of a GPU's links

  const Path& gpu_gpu(int from, int to) const;
  const Path& gpu_net(int gpu, int net) const;
  const Path& net_gpu(int net, int gpu) const;
  const Path& gpu_nvs(int gpu) const;
  const Path& nvs_gpu(int gpu) const;
};

Landscape survey(const System& system, const PlanningOptions& options);

/// The CPU nearest to a GPU: index in System::cpus.
int local_cpu(const System& system, const Paths& paths, int gpu);

/// Can a NIC read (`sending`) or write the memory of the GPU directly.
bool uses_gpu_direct(const System& system, const Paths& paths, const PlanningOptions& options,
                     int gpu, int net, bool sending);

}  // namespace shardsim::nccl

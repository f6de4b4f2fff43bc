// Which network devices a GPU uses, and in which order a search tries them.
//
// Source: NCCL graph/topo.cc and graph/search.cc. Candidates are the devices with the best
// bandwidth, then the best path type; GPUs that share them deal them out by device number.
#pragma once

#include <vector>

#include "models/nccl/paths.hpp"

namespace shardsim::nccl {

/// The network device that `gpu` uses on `channel`: index in System::nets, or -1 if it reaches
/// none.
int local_net(const System& system, const Paths& paths, const PlanningOptions& options, int gpu,
              int channel);

/// The GPU that uses `net` itself on the lowest channel, or -1.
int local_gpu(const System& system, const Paths& paths, const PlanningOptions& options, int net);

/// GPUs that `net` reaches best: greatest bandwidth, then best type.
std::vector<int> nearest_gpus(const System& system, const Paths& paths, int net);

/// Devices for a channel that begins anywhere (`gpu` -1) or that leaves `gpu`: the preferred ones
/// first, then the others whose path is no worse than `worst`.
std::vector<int> nets_to_try(const Landscape& land, PathType worst, int gpu);

/// Channels that NCCL has at most.
int channel_limit(NcclVersion version);

}  // namespace shardsim::nccl

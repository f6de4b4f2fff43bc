// What decides how collectives are carried out on a cluster: NCCL's planner and model, with copies
// of all that they look at, so that they can be handed around.
#pragma once

#include <memory>

#include "models/gpu/gpu_spec.hpp"
#include "models/nccl/nccl_model.hpp"
#include "models/nccl/planner.hpp"
#include "models/network/topology_spec.hpp"

namespace shardsim::scenario {

struct CollectivePlanning {
  CollectivePlanning(const network::TopologySpec& topology, const gpu::GpuSpec& gpu,
                     const nccl::NcclSetup& setup, nccl::DataPath path);
  CollectivePlanning(const CollectivePlanning&) = delete;
  CollectivePlanning& operator=(const CollectivePlanning&) = delete;

  const network::TopologySpec topology;
  const nccl::NcclSetup setup;
  const nccl::RingHardware hardware;
  const nccl::Planner planner;
  const nccl::NcclModel model;
};

}  // namespace shardsim::scenario

#include "models/scenario/collective_planning.hpp"

#include <cmath>

namespace shardsim::scenario {

namespace {

nccl::RingHardware ring_hardware(const network::TopologySpec& topology, const gpu::GpuSpec& gpu) {
  nccl::RingHardware hardware;
  hardware.compute_capability = static_cast<int>(std::lround(gpu.compute_capability * 10));
  const auto& cpus = topology.node.cpus;
  hardware.amd_cpu = cpus && cpus->vendor == network::CpuVendor::amd;
  return hardware;
}

const network::NicSpec* nics_of(const network::TopologySpec& topology) {
  return topology.node.nics ? &*topology.node.nics : nullptr;
}

}  // namespace

CollectivePlanning::CollectivePlanning(const network::TopologySpec& given_topology,
                                       const gpu::GpuSpec& gpu, const nccl::NcclSetup& given_setup,
                                       nccl::DataPath path)
    : topology(given_topology),
      setup(given_setup),
      hardware(ring_hardware(topology, gpu)),
      planner(topology, hardware.compute_capability, setup),
      model(planner, nccl::timing_constants(hardware.compute_capability, nics_of(topology)),
            nccl::nccl_ring_tuning(hardware), path) {}

}  // namespace shardsim::scenario

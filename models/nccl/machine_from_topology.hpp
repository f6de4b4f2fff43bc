// A topology of ours as NCCL would find it: the description that NCCL's own topology file would
// hold.
//
// Models: the node of a topology, or the nodes of one NVLink domain, at nominal rates: what NCCL
// plans with, it derives itself. Assumes: a PCIe cable is the standard link with that bandwidth; a
// GPU's cable faster than any PCIe link is NVLink-C2C; an Intel CPU is of the generation whose
// interconnect NCCL counts at that bandwidth; GPUDirect works. Leaves out the fabric between nodes,
// and cables given one by one.
#pragma once

#include <cstdint>

#include "models/nccl/machine.hpp"
#include "models/network/topology_spec.hpp"

namespace shardsim::nccl {

struct MachineChoice {
  std::int64_t nodes = 1;          ///< of the cluster: an NVLink domain holds at most so many
  std::int64_t gpus_per_node = 0;  ///< the first ones; 0: all
  int compute_capability = 0;      ///< of the GPUs, times ten
  /// NICs that the network plugin offers as one device, as aws-ofi-nccl does; in order.
  std::int64_t nics_per_device = 1;
};

Machine machine_from_topology(const network::TopologySpec& spec, const MachineChoice& choice);

}  // namespace shardsim::nccl

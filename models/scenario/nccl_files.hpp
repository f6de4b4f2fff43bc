// Files that NCCL's variables name, and what else they say about the hardware.
//
// NCCL_TOPO_FILE takes the place of the machine that NCCL would find, NCCL_GRAPH_FILE of what it
// would search. Paths are relative to the current folder, as for NCCL.
#pragma once

#include "models/nccl/planner.hpp"
#include "models/network/topology_spec.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

/// False, with problems reported at the variable's place or in the file, if a file cannot be read
/// or is not what it should be.
bool read_nccl_files(nccl::NcclSetup& setup, const nccl::VariablePlaces& places,
                     simcore::Diagnostics& diagnostics);

/// Warns where NCCL_IB_HCA leaves no NIC, and data take TCP without being told to.
void check_nic_list(const nccl::Planner& planner, const simcore::SourceLocation& where,
                    simcore::Diagnostics& diagnostics);

/// NCCL_MNNVL_ENABLE=0 leaves NVLink between nodes alone.
void apply_environment(const nccl::Environment& environment, network::TopologySpec& topology);

}  // namespace shardsim::scenario

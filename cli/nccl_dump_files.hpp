// NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE: what NCCL would write about a cluster.
#pragma once

#include <expected>
#include <string>

#include "models/scenario/collective_cluster.hpp"

namespace shardsim::cli {

/// Writes what the cluster's environment asks for, about all of its GPUs. The error is a message.
std::expected<void, std::string> write_nccl_dumps(const scenario::CollectiveCluster& cluster);

}  // namespace shardsim::cli

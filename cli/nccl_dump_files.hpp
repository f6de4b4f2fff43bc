// NCCL_TOPO_DUMP_FILE and NCCL_GRAPH_DUMP_FILE: what NCCL would write about a cluster.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "cli/output_target.hpp"
#include "models/nccl/environment.hpp"
#include "models/scenario/collective_cluster.hpp"

namespace shardsim::cli {

/// The files that the environment names, to take part in check_targets(): those that are read, and
/// those that are written.
std::vector<NamedTarget> nccl_files_read(const nccl::Environment& environment);
std::vector<NamedTarget> nccl_files_written(const nccl::Environment& environment);

/// Writes what the cluster's environment asks for, about all of its GPUs. The error is a message.
std::expected<void, std::string> write_nccl_dumps(const scenario::CollectiveCluster& cluster);

}  // namespace shardsim::cli

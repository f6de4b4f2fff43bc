// NCCL's graph files: the search result, as NCCL_GRAPH_DUMP_FILE writes and NCCL_GRAPH_FILE reads
// it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/nccl/graph_search.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::nccl {

/// The graphs of a file, for the GPUs and NICs of `system`. Graphs that the file lacks, or that
/// `options` rule out (a ring that crosses NICs where NCCL_CROSS_NIC is 0), are left to the search.
/// Unknown devices and channels that do not visit every GPU once are errors.
std::optional<GivenGraphs> read_graph_xml(const std::shared_ptr<const simcore::SourceText>& source,
                                          const System& system, const PlanningOptions& options,
                                          simcore::Diagnostics& diagnostics);

std::string write_graph_xml(const NodeGraphs& graphs, const System& system);

}  // namespace shardsim::nccl

// A machine of topologies/nccl, or given as text, planned by NCCL's rules.
#pragma once

#include <memory>
#include <string>

#include "models/nccl/graph_search.hpp"
#include "models/nccl/machine.hpp"
#include "models/nccl/paths.hpp"

namespace shardsim::nccl {

/// A text as a file of that name would hold it.
std::shared_ptr<const simcore::SourceText> source_of(std::string name, std::string text);

/// topologies/nccl/`name`.xml; fails the test if it cannot be read.
Machine shipped_machine(const std::string& name);

struct PlannedMachine {
  std::unique_ptr<System> system;
  std::unique_ptr<Landscape> land;
  NodeGraphs graphs;
};

/// The system and its paths, without a search.
PlannedMachine surveyed(const Machine& machine, NcclVersion version,
                        const PlanningOptions& options);

PlannedMachine planned(const Machine& machine, NcclVersion version, const PlanningOptions& options,
                       const GraphWishes& wishes = {}, const GivenGraphs& given = {});

PlanningOptions on_several_nodes();

bool same_channels(const ChannelGraph& ours, const ChannelGraph& theirs);

/// Everything that a graph says but its channels, in the columns of data/searched_graphs.csv from
/// `pattern` to `sameChannels`.
std::string summary_row(const ChannelGraph& graph);

}  // namespace shardsim::nccl

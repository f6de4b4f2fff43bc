// Which nodes the scenario's own job has, and which the jobs and the traffic beside it.
//
// A node belongs to one job; what no other job names is the scenario's own. Background traffic
// shares the nodes that it names, or all.
#pragma once

#include <optional>
#include <vector>

#include "models/network/graph.hpp"
#include "models/scenario/job_plan.hpp"
#include "models/scenario/scenario_spec.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

struct JobPlacement {
  std::vector<int> gpus;        ///< of the own job's ranks, in the cluster's numbering
  int nodes = 0;                ///< of the own job
  std::vector<JobPlan> others;  ///< jobs, then traffic: names, nodes and GPUs; not yet programs
};

/// Nothing if `diagnostics` received an error: nodes that there are not, that two jobs have, or
/// none left for the own job.
std::optional<JobPlacement> place_jobs(const LoadedScenario& scenario, const network::Graph& graph,
                                       simcore::Diagnostics& diagnostics);

}  // namespace shardsim::scenario

// Finds the rank classes of the jobs of an experiment: puts their ranks, communicators and links
// into the form that rank_classes.hpp refines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/cuda/program.hpp"
#include "models/network/graph.hpp"
#include "models/network/link_schedule.hpp"
#include "models/scenario/collective_planning.hpp"
#include "models/scenario/rank_classes.hpp"

namespace shardsim::scenario {

/// What the search needs to know of a job.
struct ClassJob {
  const cuda::Program* program = nullptr;
  const std::vector<int>* gpus = nullptr;             ///< of each rank
  std::vector<Colour> ranks;                          ///< colours by what perturbs them
  std::vector<std::vector<std::vector<int>>> groups;  ///< in ranks, by the program's communicator
};

/// The classes of each job, by its own numbering of ranks. With `every_rank` each rank is one.
std::vector<RankClasses> search_classes(const std::vector<ClassJob>& jobs,
                                        const network::Graph& graph,
                                        const std::vector<network::LinkChange>& link_changes,
                                        const CollectivePlanning& planning, bool every_rank);

}  // namespace shardsim::scenario

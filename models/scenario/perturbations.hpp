// The scenario's perturbations on a given cluster: what deviates in each rank and on each link.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/cuda/rank_pace.hpp"
#include "models/network/link_schedule.hpp"
#include "models/scenario/perturbation_spec.hpp"
#include "models/scenario/rank_classes.hpp"

namespace shardsim::scenario {

struct Perturbations {
  std::vector<double> slowdowns;                       ///< by rank; empty: none
  std::vector<std::unique_ptr<cuda::RankPace>> paces;  ///< by rank, null: steady; empty: all are
  std::vector<network::LinkChange> link_changes;       ///< in order of time
  bool jitter = false;

  double slowdown(int rank) const;
  const cuda::RankPace* pace(int rank) const;
};

/// `specs` have been checked against the cluster.
Perturbations resolve(const std::vector<PerturbationSpec>& specs, const network::Graph& graph,
                      int ranks);

/// NICs whose network links carry nothing, one way or the other, from the start: NCCL, which looks
/// for NICs then, does not find them.
std::vector<network::VertexId> nics_down_at_start(const std::vector<network::LinkChange>& changes,
                                                  const network::Graph& graph);

/// Colours of `ranks` ranks, equal where nothing in `specs` tells them apart.
std::vector<Colour> colours_of_ranks(const std::vector<PerturbationSpec>& specs, int ranks);

/// Colours of links, equal where bandwidth and what happens to it are.
std::vector<Colour> colours_of_links(const network::Graph& graph,
                                     const std::vector<network::LinkChange>& changes);

}  // namespace shardsim::scenario

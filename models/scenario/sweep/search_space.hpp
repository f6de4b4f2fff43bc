// Where to look for the best way to train a model on a given cluster, if nobody says: the axes of
// a sweep over strategy and sharding group, activation checkpointing and micro-batch.
//
// The scenario's other choices stay: precision, compilation, optimizer, the number of GPUs. With
// gradient accumulation the sequences of one GPU and step stay as well, and micro-batches divide
// them; without, micro-batches are 1, 2, 4, ... 64.
#pragma once

#include <cstdint>
#include <vector>

#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/sweep/sweep_axis.hpp"

namespace shardsim::scenario {

struct ClusterShape {
  std::int64_t nodes = 1;
  std::int64_t gpus_per_node = 1;
  std::int64_t gpus() const { return nodes * gpus_per_node; }
};

/// For a scenario of a model; prescribed times leave nothing to choose, and no axes.
std::vector<SweepAxis> search_space(const LoadedScenario& scenario, const ClusterShape& cluster);

/// What is held while a cluster grows.
enum class Hold : std::uint8_t { global_batch, micro_batch };

/// Clusters from 1 to `most` nodes, smallest first, as one axis. Holding the global batch, only
/// those that divide the scenario's: the sequences of a GPU go into micro-batches no larger than
/// the scenario's, and the more GPUs, the fewer accumulation steps.
SweepAxis growing_clusters(const ScenarioSpec& spec, const ClusterShape& cluster, Hold hold,
                           std::int64_t most);

}  // namespace shardsim::scenario

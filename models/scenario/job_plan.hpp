// A job beside the scenario's own: a program, and the GPUs whose ranks run it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/cuda/program.hpp"
#include "models/scenario/rank_layout.hpp"
#include "models/training/training_spec.hpp"

namespace shardsim::scenario {

struct JobPlan {
  std::string name;
  int nodes = 0;
  std::vector<int> gpus;  ///< of each rank, in the cluster's numbering
  training::GroupSizes groups;
  std::int64_t reshard = 0;  ///< ranks that keep a unit between forward and backward; 0: all
  std::unique_ptr<cuda::Program> program;
  bool background = false;     ///< carries traffic and trains nothing
  double tokens_per_step = 0;  ///< of all its ranks; 0 for prescribed workloads
  RankLayout layout;
};

}  // namespace shardsim::scenario

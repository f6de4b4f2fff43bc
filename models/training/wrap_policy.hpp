// FSDP1's auto-wrap policy by size: which modules become units of their own.
//
// Models size_based_auto_wrap_policy: modules are visited from the leaves up; one whose parameters,
// without those of units inside it, number at least `min_num_params` becomes a unit. What is left
// belongs to the root. The module tree follows from the parameters' names.
// Source: torch/distributed/fsdp/wrap.py.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/training/workload.hpp"

namespace shardsim::training {

struct WrappedUnit {
  std::vector<ParameterRef> parameters;  ///< of this unit itself
  std::size_t modules = 0;               ///< with parameters, in the unit and in units inside it
};

struct Wrapping {
  std::vector<WrappedUnit> units;  ///< the root first, then in the order of registration
  /// Units around a module with parameters, named by the first of them, from the outermost in;
  /// without the root.
  std::map<std::pair<int, std::size_t>, std::vector<std::size_t>> units_around;
};

Wrapping wrap_by_size(const Workload& workload, std::int64_t min_num_params);

}  // namespace shardsim::training

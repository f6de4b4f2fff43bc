// The published run that is nearest to a forecast's.
//
// Models: distance as doublings of GPUs and of parameters between the two, and one doubling each
// for another GPU of the generation, another element type and offload to the CPU. Runs of another
// family of strategies or of another generation are never comparable. Leaves out: sequence length,
// checkpointing, compilation and the network, which the table of residuals does not hold.
#pragma once

#include <optional>
#include <string>

#include "models/scenario/accuracy/residual_table.hpp"

namespace shardsim::scenario {

struct PublishedRun {
  const Residual* run = nullptr;  ///< in the table
  double doublings = 0;           ///< distance
  /// Same GPU and element type, GPUs within a factor of 4 and parameters within one of 2.
  bool comparable = false;
  std::string differences;  ///< "4 times as many GPUs, bf16 instead of fp8"; empty: none
};

/// Nothing where no run has both the family of strategies and the GPU's generation, and for
/// prescribed times. Of equally near runs the first of the table.
std::optional<PublishedRun> nearest_published_run(const RunFacts& run, const ResidualTable& table);

}  // namespace shardsim::scenario

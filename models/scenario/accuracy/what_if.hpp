// What the step would take on other hardware: the scenario run again, one change at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/scenario/experiment.hpp"
#include "models/scenario/result.hpp"

namespace shardsim::scenario {

/// The changes that are asked about, in order, with the names that results use.
struct WhatIfQuestion {
  std::string key;   ///< "network_bandwidth_x2"
  std::string text;  ///< "twice the bandwidth of NICs, PCIe and switches"
  HardwareChanges changes;
};
std::vector<WhatIfQuestion> what_if_questions();

/// Runs the experiment's scenario once for each question. A run that fails (memory may be cut up
/// differently) has no time. `step` is told of the share of the work that is done, 0..1.
std::vector<WhatIf> answer_what_if(const Experiment& experiment, const ExperimentOptions& options,
                                   const std::function<void(double)>& step = {});

}  // namespace shardsim::scenario

// What decides which published runs a forecast is comparable with.
#pragma once

#include <cstdint>
#include <string>

#include "models/scenario/experiment.hpp"
#include "models/scenario/result.hpp"

namespace shardsim::scenario {

struct RunFacts {
  std::string family;      ///< of strategies: "FSDP", "DDP" or "ZeRO"
  std::string gpu;         ///< as its file names it
  std::string generation;  ///< the GPU's architecture
  std::int64_t parameters = 0;
  std::int64_t gpus = 0;
  std::string precision;
  /// The GPU's matrix products are calibrated on training runs, of it or of its generation.
  bool calibrated = false;
  bool cpu_offload = false;  ///< of parameters; no published run with a residual has it
  /// Shares of the forecast step, 0..1, in which the compute stream waits: for communication and
  /// for the CPU.
  double exposed_share = 0;
  double cpu_share = 0;
};

/// "FSDP" for FSDP1 and FSDP2 alike.
const char* strategy_family(training::Strategy strategy);

/// Of a run of a model; prescribed times have `parameters` 0 and are comparable with nothing.
RunFacts facts_of(const Experiment& experiment);

/// With the shares of its forecast.
RunFacts facts_of(const Experiment& experiment, const StepResult& step);

}  // namespace shardsim::scenario

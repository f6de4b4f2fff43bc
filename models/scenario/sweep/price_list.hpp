// What an hour of a GPU costs, by GPU: a YAML file of the user's.
//
// A price belongs to a day and a contract, so the list carries its date and every price may carry
// its source. Cost follows from the step time alone: GPUs x step time x price; idle and failed
// hours, storage and traffic are left out.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "models/scenario/result.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::scenario {

struct GpuPrice {
  double per_gpu_hour = 0;
  std::string source;
  static void describe(simcore::Fields<GpuPrice>& fields);
};

struct PriceList {
  std::string currency = "USD";
  std::string dated;
  std::string note;
  std::map<std::string, GpuPrice> gpus;  ///< by the name in `topologies/gpus/`
  static void describe(simcore::Fields<PriceList>& fields);
  static void check(const PriceList& list, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

struct Cost {
  double per_hour = 0;  ///< of the cluster
  double per_step = 0;
  std::optional<double> per_million_tokens;  ///< nothing for prescribed workloads
};

/// Nothing if the list has no price for the GPU, or there is no step.
std::optional<Cost> cost_of(const Result& result, const PriceList& prices);

}  // namespace shardsim::scenario

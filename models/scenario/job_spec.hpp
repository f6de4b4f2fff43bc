// The `jobs:` and `background:` sections: who else uses the cluster.
//
// A job repeats its step until the scenario's own job has ended. Background traffic repeats an
// all-to-all among the GPUs of its nodes; its GPUs' other work is not slowed by it but through the
// links that it loads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/training/cpu_spec.hpp"
#include "models/training/training_spec.hpp"
#include "models/training/workload_spec.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/diagnostics.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::scenario {

struct JobSpec {
  std::string name;
  std::vector<std::int64_t> nodes;
  training::WorkloadSpec workload;
  training::TrainingSpec training;
  training::CpuSpec cpu;
  static void describe(simcore::Fields<JobSpec>& fields);
  static void check(const JobSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

enum class BackgroundPattern : std::uint8_t { alltoall, sendrecv };

struct BackgroundSpec {
  std::string name = "background";
  std::vector<std::int64_t> nodes;
  BackgroundPattern pattern = BackgroundPattern::alltoall;
  simcore::Bytes bytes;
  simcore::SimTime gap;
  static void describe(simcore::Fields<BackgroundSpec>& fields);
};

}  // namespace shardsim::scenario

namespace shardsim::simcore {

template <>
struct EnumNames<scenario::BackgroundPattern> {
  static constexpr auto values = std::to_array<EnumName<scenario::BackgroundPattern>>(
      {{"alltoall", scenario::BackgroundPattern::alltoall},
       {"sendrecv", scenario::BackgroundPattern::sendrecv}});
};

}  // namespace shardsim::simcore

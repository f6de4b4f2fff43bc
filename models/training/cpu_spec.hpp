// The `cpu:` section of a scenario: what the CPU thread that drives a GPU spends on issuing work.
//
// Costs are per operation and independent of its size. Sources are public measurements: bare
// launches from gpu-benches (small-kernels) and susun-blog; eager operations are chosen so that an
// unfused Llama layer costs about 0.9 ms a step; optimizer costs from microsoft/dion pull request
// 63 and pytorch/pytorch issues 109477 and 134191; what is assumed says so.
#pragma once

#include <optional>

#include "simcore/config/fields.hpp"
#include "simcore/time.hpp"

namespace shardsim::training {

struct CpuSpec {
  /// Absent means 5 us, and 0 for a workload of prescribed times.
  std::optional<simcore::SimTime> launch;
  simcore::SimTime forward_op = simcore::SimTime::nanoseconds(8'000);
  simcore::SimTime backward_op = simcore::SimTime::nanoseconds(6'500);
  simcore::SimTime hook = simcore::SimTime::microseconds(200);
  simcore::SimTime collective = simcore::SimTime::microseconds(30);
  simcore::SimTime optimizer_step = simcore::SimTime::microseconds(500);
  simcore::SimTime optimizer_tensor = simcore::SimTime::microseconds(10);
  simcore::SimTime dtensor_foreach = simcore::SimTime::microseconds(900);
  simcore::SimTime dtensor_fused = simcore::SimTime::microseconds(280);

  /// From the end of a launch call to the start on an idle GPU.
  simcore::SimTime launch_latency = simcore::SimTime::microseconds(5);

  simcore::SimTime launch_or_default() const {
    return launch.value_or(simcore::SimTime::microseconds(5));
  }

  static void describe(simcore::Fields<CpuSpec>& fields) {
    constexpr simcore::SimTime none;
    fields
        .optional("launch", &CpuSpec::launch,
                  "One bare kernel launch, as compiled code and copies issue it: 4 to 6 us. By "
                  "default 5 us, and nothing where the workload prescribes times.")
        .at_least(none);
    fields
        .optional("launch_latency", &CpuSpec::launch_latency,
                  "From the end of a launch call until an idle GPU starts: about 5 us. Nothing "
                  "where the workload prescribes times.")
        .at_least(none);
    fields
        .optional("forward_op", &CpuSpec::forward_op,
                  "One eager operation in forward, Python included: 6 to 10 us.")
        .at_least(none);
    fields
        .optional("backward_op", &CpuSpec::backward_op,
                  "One operation of the autograd engine in backward: 5 to 8 us.")
        .at_least(none);
    fields
        .optional("hook", &CpuSpec::hook,
                  "Hooks of a sharding strategy around one unit: 0.1 to 0.3 ms in Python.")
        .at_least(none);
    fields
        .optional("collective", &CpuSpec::collective,
                  "Issuing one collective: process group, stream waits, NCCL's enqueue "
                  "(assumed).")
        .at_least(none);
    fields
        .optional("optimizer_step", &CpuSpec::optimizer_step,
                  "Fixed part of an optimizer step: about 0.5 ms.")
        .at_least(none);
    fields
        .optional("optimizer_tensor", &CpuSpec::optimizer_tensor,
                  "Optimizer step, for every parameter tensor (assumed).")
        .at_least(none);
    fields
        .optional("dtensor_foreach", &CpuSpec::dtensor_foreach,
                  "Besides, for every tensor that is a DTensor (FSDP2), with the foreach "
                  "implementation: 138 ms for 150 tensors.")
        .at_least(none);
    fields
        .optional("dtensor_fused", &CpuSpec::dtensor_fused,
                  "The same with the fused implementation: 43 ms for 150 tensors.")
        .at_least(none);
  }
};

}  // namespace shardsim::training

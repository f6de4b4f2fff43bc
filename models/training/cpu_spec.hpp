// The `cpu:` section of a scenario: what the CPU thread that drives a GPU spends on issuing work.
//
// Costs are per operation and independent of its size. Sources are public measurements: bare
// launches from gpu-benches (small-kernels) and susun-blog; eager operations are chosen so that an
// unfused Llama layer costs about 0.9 ms a step. DTensor: a dispatch takes 90 us (the bound of
// PyTorch's own test, pull request 159699), of which an operation on a list of tensors pays most
// once and about 12 us (assumed) for each tensor; in all this agrees with torchtitan's pull request
// 881, where 291 tensors fused instead of foreach save 2 % of a step of 1.5 s, nearly all of it on
// the GPU. What is assumed says so.
#pragma once

#include <optional>

#include "simcore/config/fields.hpp"
#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::training {

struct CpuSpec {
  /// Absent means 5 us, and 0 for a workload of prescribed times.
  std::optional<simcore::SimTime> launch;
  simcore::SimTime forward_op = simcore::SimTime::nanoseconds(8'000);
  simcore::SimTime backward_op = simcore::SimTime::nanoseconds(6'500);
  simcore::SimTime hook = simcore::SimTime::microseconds(200);
  simcore::SimTime module_hook = simcore::SimTime::microseconds(50);
  simcore::SimTime collective = simcore::SimTime::microseconds(30);
  simcore::SimTime optimizer_step = simcore::SimTime::microseconds(500);
  simcore::SimTime optimizer_tensor = simcore::SimTime::microseconds(10);
  simcore::SimTime dtensor_foreach = simcore::SimTime::microseconds(120);
  simcore::SimTime dtensor_fused = simcore::SimTime::microseconds(30);

  /// Absent means what the topology's PCIe links give.
  std::optional<simcore::BitRate> host_link;
  simcore::SimTime host_optimizer = simcore::SimTime::microseconds(1'390);

  simcore::SimTime device_malloc = simcore::SimTime::microseconds(300);
  simcore::SimTime device_free = simcore::SimTime::microseconds(300);

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
        .optional("host_link", &CpuSpec::host_link,
                  "cpu_offload: rate of copies between pinned host memory and one GPU while its "
                  "neighbours copy, too. By default that of the topology's PCIe links.")
        .above(simcore::BitRate{0});
    fields
        .optional("host_optimizer", &CpuSpec::host_optimizer,
                  "cpu_offload: step of PyTorch's optimizer on the CPU, for every million elements "
                  "of the node, whose GPUs share its memory: 1.39 s a billion for Adam "
                  "(ZeRO-Offload, arXiv 2101.06840).")
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
        .optional("module_hook", &CpuSpec::module_hook,
                  "Hooks of ZeRO-3 around one module of a unit, in one direction (assumed: a "
                  "quarter of those around a unit).")
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
                  "implementation: unwrapped and checked in each of ten operations.")
        .at_least(none);
    fields
        .optional("dtensor_fused", &CpuSpec::dtensor_fused,
                  "The same with the fused implementation, one operation on five lists.")
        .at_least(none);
    fields
        .optional(
            "device_malloc", &CpuSpec::device_malloc,
            "One cudaMalloc of a segment, or mapping of its pages (assumed; older GPUs took "
            "50 us up to 512 KB and more above, by the University of Virginia). Nothing where "
            "the workload prescribes times.")
        .at_least(none);
    fields
        .optional("device_free", &CpuSpec::device_free,
                  "One cudaFree of a segment, after the wait for an idle GPU that goes before it "
                  "(assumed: as cudaMalloc).")
        .at_least(none);
  }
};

}  // namespace shardsim::training

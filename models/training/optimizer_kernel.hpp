// The optimizer step as one kernel: traffic, launches and the CPU time to issue them.
//
// Models: parameters, gradients and state in one type. Fused AdamW reads p, m, v and the gradient
// and writes p, m, v: 28 bytes an element in fp32. The foreach implementation makes a pass for each
// of its elementary operations, about three times the traffic. Assumes: no separate 16-bit copy to
// refresh, as FSDP has none. Leaves out: gradient clipping, which is the strategy's.
#pragma once

#include <cstdint>

#include "models/cuda/program.hpp"
#include "models/training/cpu_spec.hpp"
#include "models/training/training_spec.hpp"

namespace shardsim::training {

struct OptimizerSetting {
  OptimizerKind kind = OptimizerKind::adamw;
  OptimizerImplementation implementation = OptimizerImplementation::foreach;
  /// Whether the optimizer sees DTensors (FSDP2), whose dispatch costs the CPU more.
  bool dtensor_parameters = false;
  gpu::DataType master_type = gpu::DataType::fp32;
};

/// A step over `parameters` elements in `tensors` tensors on this rank; both may be 0.
cuda::KernelSpec optimizer_kernel(const OptimizerSetting& setting, const CpuSpec& cpu,
                                  std::int64_t parameters, std::int64_t tensors);

}  // namespace shardsim::training

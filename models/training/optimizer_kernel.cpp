#include "models/training/optimizer_kernel.hpp"

#include <algorithm>

#include "simcore/integer.hpp"

namespace shardsim::training {

using simcore::divide_up;

namespace {

/// Elements moved for each parameter, and passes over the data, each a set of multi-tensor kernels.
struct Traffic {
  std::int64_t elements;
  std::int64_t passes;
};

Traffic traffic(const OptimizerSetting& setting) {
  // Plain SGD reads p and the gradient and writes p, in either implementation.
  if (setting.kind == OptimizerKind::sgd) return {3, 1};
  // foreach AdamW: decay, two moments in two operations each, square root, bias corrections,
  // epsilon, division with addition; together three times the fused kernel's 7 elements.
  if (setting.implementation == OptimizerImplementation::foreach) return {21, 9};
  return {7, 1};
}

/// PyTorch's multi_tensor_apply gives one launch at most 320 chunks of 65,536 elements and, for
/// the four lists of AdamW and their step counts, 30 tensors.
std::int64_t launches_of_pass(std::int64_t parameters, std::int64_t tensors) {
  constexpr std::int64_t elements_per_launch = std::int64_t{320} * 65'536;
  return std::max<std::int64_t>(
      {1, divide_up(parameters, elements_per_launch), divide_up(tensors, 30)});
}

simcore::SimTime cpu_cost(const OptimizerSetting& setting, const CpuSpec& cpu,
                          std::int64_t tensors) {
  simcore::SimTime cost_of_tensor = cpu.optimizer_tensor;
  if (setting.dtensor_parameters) {
    cost_of_tensor += setting.implementation == OptimizerImplementation::foreach
                          ? cpu.dtensor_foreach
                          : cpu.dtensor_fused;
  }
  return cpu.optimizer_step + cost_of_tensor * tensors;
}

}  // namespace

cuda::KernelSpec optimizer_kernel(const OptimizerSetting& setting, const CpuSpec& cpu,
                                  std::int64_t parameters, std::int64_t tensors) {
  const Traffic cost = traffic(setting);
  const std::int64_t bytes = cost.elements * gpu::bytes_per_element(setting.master_type);
  const std::int64_t launches = cost.passes * launches_of_pass(parameters, tensors);
  return {.category = cuda::KernelCategory::optimizer,
          .work = gpu::MemoryBoundWork{.kind = gpu::MemoryBoundKind::optimizer,
                                       .bytes = simcore::Bytes{parameters * bytes},
                                       .launches = static_cast<int>(launches)},
          .cpu_cost = cpu_cost(setting, cpu, tensors)};
}

}  // namespace shardsim::training

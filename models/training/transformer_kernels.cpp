#include "models/training/transformer_kernels.hpp"

#include <cmath>
#include <utility>

namespace shardsim::training {

using simcore::Bytes;

simcore::SimTime KernelContext::cpu_cost(Pass pass, std::int64_t operations) const {
  if (compiled) return cpu.launch_or_default() * operations;
  return (pass == Pass::forward ? cpu.forward_op : cpu.backward_op) * operations;
}

Launch product(const KernelContext& context, Pass pass, std::string name, std::int64_t m,
               std::int64_t n, std::int64_t k, std::int64_t batch) {
  return {std::move(name),
          {.category = cuda::KernelCategory::gemm,
           .work = gpu::GemmWork{.m = m,
                                 .n = n,
                                 .k = k,
                                 .batch = batch,
                                 .type = context.type,
                                 .output_type = context.type},
           .cpu_cost = context.cpu_cost(pass, 1)}};
}

Launch streaming(const KernelContext& context, Pass pass, std::string name,
                 cuda::KernelCategory category, gpu::MemoryBoundKind kind, Bytes bytes,
                 int launches) {
  return {std::move(name),
          {.category = category,
           .work = gpu::MemoryBoundWork{.kind = kind, .bytes = bytes, .launches = launches},
           .cpu_cost = context.cpu_cost(pass, launches)}};
}

Launch fusible(const KernelContext& context, Pass pass, std::string name,
               cuda::KernelCategory category, gpu::MemoryBoundKind kind, Bytes fused,
               EagerCost eager) {
  if (context.compiled) {
    return streaming(context, pass, std::move(name), category, kind, fused, 1);
  }
  const Bytes traffic{std::llround(static_cast<double>(fused.count) * eager.traffic)};
  return streaming(context, pass, std::move(name), category, kind, traffic, eager.launches);
}

}  // namespace shardsim::training

// The `workload:` section of a scenario: what one GPU computes in a step.
#pragma once

#include <cstdint>
#include <optional>

#include "models/gpu/kernel_work.hpp"
#include "models/training/checkpointing.hpp"
#include "models/training/explicit_workload_spec.hpp"
#include "models/training/model_spec.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::training {

/// Element type of compute. fp8 means linear layers of the blocks in fp8, all else in bf16.
enum class Precision : std::uint8_t { bf16, fp16, fp32, fp8 };

/// `flash` is what PyTorch's scaled_dot_product_attention calls so (FlashAttention-2); `math` is
/// unfused: two batched products with the s x s scores in memory between them.
enum class AttentionKind : std::uint8_t { flash, flash_1, flash_3, cudnn, math };

struct WorkloadSpec {
  std::optional<ModelReference> model;
  std::optional<ExplicitSpec> explicit_times;
  std::optional<std::int64_t> sequence_length;
  std::int64_t micro_batch_size = 1;
  std::int64_t gradient_accumulation = 1;
  Checkpointing activation_checkpointing = Checkpointing::none;
  std::int64_t checkpoint_every = 1;
  bool recompute_early_stop = true;
  bool selective_keeps_attention = true;
  Precision precision = Precision::bf16;
  AttentionKind attention = AttentionKind::flash;
  bool compile = false;
  std::optional<double> loss_bytes_per_logit;
  std::int64_t loss_metrics = 0;

  static void describe(simcore::Fields<WorkloadSpec>& fields);
  static void check(const WorkloadSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

/// Rules between the workload and its model, once that is loaded. Errors point at `workload_node`,
/// the section's node.
void check_model_fits(const WorkloadSpec& spec, const ModelSpec& model,
                      const simcore::ConfigNode& workload_node, simcore::Diagnostics& diagnostics);

/// Element type of activations, gathered parameters and fresh gradients.
gpu::DataType compute_type(Precision precision);

}  // namespace shardsim::training

namespace shardsim::simcore {

template <>
struct EnumNames<training::Checkpointing> {
  static constexpr auto values = std::to_array<EnumName<training::Checkpointing>>(
      {{"none", training::Checkpointing::none},
       {"selective", training::Checkpointing::selective},
       {"full", training::Checkpointing::full}});
};
template <>
struct EnumNames<training::Precision> {
  static constexpr auto values =
      std::to_array<EnumName<training::Precision>>({{"bf16", training::Precision::bf16},
                                                    {"fp16", training::Precision::fp16},
                                                    {"fp32", training::Precision::fp32},
                                                    {"fp8", training::Precision::fp8}});
};
template <>
struct EnumNames<training::AttentionKind> {
  static constexpr auto values = std::to_array<EnumName<training::AttentionKind>>(
      {{"flash", training::AttentionKind::flash},
       {"flash_1", training::AttentionKind::flash_1},
       {"flash_3", training::AttentionKind::flash_3},
       {"cudnn", training::AttentionKind::cudnn},
       {"math", training::AttentionKind::math}});
};

}  // namespace shardsim::simcore

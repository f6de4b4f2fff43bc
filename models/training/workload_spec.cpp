#include "models/training/workload_spec.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace shardsim::training {

using simcore::ConfigNode;
using simcore::Diagnostics;

namespace {

/// Keys that only make sense for a model: beside prescribed times they would be ignored.
constexpr std::array<std::string_view, 11> model_keys{"sequence_length",
                                                      "micro_batch_size",
                                                      "activation_checkpointing",
                                                      "checkpoint_every",
                                                      "precision",
                                                      "attention",
                                                      "recompute_early_stop",
                                                      "selective_keeps_attention",
                                                      "compile",
                                                      "loss_bytes_per_logit",
                                                      "loss_metrics"};

void check_source(const WorkloadSpec& spec, const ConfigNode& node, Diagnostics& diagnostics) {
  if (!spec.model && !spec.explicit_times) {
    diagnostics.error(node.where(),
                      "workload: nothing to compute; expected either model or explicit");
  } else if (spec.model && spec.explicit_times) {
    diagnostics.error(node.where_key("explicit"),
                      "workload: model and explicit exclude each other; expected one of them");
  } else if (spec.explicit_times) {
    for (const std::string_view key : model_keys) {
      if (!node.has(key)) continue;
      diagnostics.error(node.where_key(key),
                        fmt::format("workload.{}: has no meaning beside explicit times", key));
    }
  } else if (!spec.sequence_length) {
    diagnostics.error(node.where(), "workload.sequence_length is missing; a model needs it");
  }
}

}  // namespace

void WorkloadSpec::describe(simcore::Fields<WorkloadSpec>& fields) {
  fields.optional("model", &WorkloadSpec::model,
                  "A transformer: the name of a shipped model, the path of a YAML file, or its "
                  "keys. Either this or explicit.");
  fields.optional("explicit", &WorkloadSpec::explicit_times,
                  "Times instead of a model. Either this or model.");
  fields
      .optional("sequence_length", &WorkloadSpec::sequence_length,
                "Tokens of one sequence. A model needs it.")
      .range(1, 100'000'000);
  fields
      .optional("micro_batch_size", &WorkloadSpec::micro_batch_size,
                "Sequences that one GPU computes at a time.")
      .range(1, 1'000'000);
  fields
      .optional("gradient_accumulation", &WorkloadSpec::gradient_accumulation,
                "Micro-batches of one optimizer step.")
      .range(1, 100'000);
  fields.optional("activation_checkpointing", &WorkloadSpec::activation_checkpointing,
                  "What backward computes again: nothing; everything but attention and every "
                  "second linear layer of a block (torchtitan's per-operator policy); everything "
                  "from the block's input.");
  fields
      .optional("checkpoint_every", &WorkloadSpec::checkpoint_every,
                "Checkpointing applies to every n-th block only.")
      .range(1, 10'000);
  fields.optional("recompute_early_stop", &WorkloadSpec::recompute_early_stop,
                  "Recomputation ends once every saved value is there again (PyTorch since 2.1, "
                  "non-reentrant). Set to false for reentrant checkpointing.");
  fields.optional("selective_keeps_attention", &WorkloadSpec::selective_keeps_attention,
                  "Selective checkpointing keeps what fused attention returns. torchtitan's list "
                  "did not name cuDNN's attention before December 2025: set to false for such a "
                  "kernel.");
  fields.optional("precision", &WorkloadSpec::precision,
                  "Element type of compute; fp8 means the blocks' linear layers, all else bf16.");
  fields.optional(
      "attention", &WorkloadSpec::attention,
      "Attention kernel: fused (flash is FlashAttention-2, flash_1 its predecessor in CUDA "
      "or Triton), or unfused (math).");
  fields.optional("compile", &WorkloadSpec::compile,
                  "Whether torch.compile fuses the kernels between matrix products.");
  fields
      .optional(
          "loss_bytes_per_logit", &WorkloadSpec::loss_bytes_per_logit,
          "Memory that logits and loss hold at their peak, for each logit. By default 12 (the "
          "log-softmax in fp32 and two gradients), with compile 4 (logit and gradient; 8 for "
          "fp32). Less than an fp32 copy beside the logits means a fused loss; a chunked one "
          "holds about 2.")
      .range(2, 20);
  fields
      .optional("loss_metrics", &WorkloadSpec::loss_metrics,
                "Cross-entropies besides the loss that the training loop takes of every "
                "micro-batch's logits, only to report them: Composer's train metrics are 2.")
      .range(0, 16);
}

void WorkloadSpec::check(const WorkloadSpec& spec, const ConfigNode& node,
                         Diagnostics& diagnostics) {
  check_source(spec, node, diagnostics);
  if (spec.precision == Precision::fp32 && spec.attention != AttentionKind::math && spec.model) {
    diagnostics.error(
        node.where_value(node.has("attention") ? "attention" : "precision"),
        "workload.attention: fused kernels run in 16 bits; expected math for precision fp32");
  }
  if (spec.loss_bytes_per_logit && spec.precision == Precision::fp32 &&
      *spec.loss_bytes_per_logit < 4) {
    diagnostics.error(node.where_value("loss_bytes_per_logit"),
                      "workload.loss_bytes_per_logit: an fp32 logit alone takes 4 bytes");
  }
}

void check_model_fits(const WorkloadSpec& spec, const ModelSpec& model,
                      const ConfigNode& workload_node, Diagnostics& diagnostics) {
  const std::int64_t length = spec.sequence_length.value_or(1);
  const TransformerShape shape = resolve(model, length);
  if (shape.positions == PositionKind::learned && shape.position_rows < length) {
    diagnostics.error(
        workload_node.where_value("sequence_length"),
        fmt::format("workload.sequence_length: the model's table of learned positions "
                    "has {} rows, too few for sequences of {} tokens",
                    shape.position_rows, length));
  }
  if (spec.attention != AttentionKind::math && shape.head_size > 256) {
    diagnostics.error(workload_node.where_value("model"),
                      fmt::format("workload.model: fused attention kernels go up to a head size of "
                                  "256, this model's is {}; expected attention: math",
                                  shape.head_size));
  }
}

gpu::DataType compute_type(Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return gpu::DataType::fp32;
    case Precision::fp16:
      return gpu::DataType::fp16;
    case Precision::bf16:
    case Precision::fp8:
      break;
  }
  return gpu::DataType::bf16;
}

}  // namespace shardsim::training

#include "models/training/training_spec.hpp"

#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

namespace shardsim::training {

using simcore::ConfigNode;
using simcore::Diagnostics;

gpu::DataType data_type(ElementType type) {
  switch (type) {
    case ElementType::bf16:
      return gpu::DataType::bf16;
    case ElementType::fp16:
      return gpu::DataType::fp16;
    case ElementType::fp32:
      break;
  }
  return gpu::DataType::fp32;
}

std::int64_t BackwardPrefetch::depth() const {
  if (const auto* depth = std::get_if<std::int64_t>(&value)) return *depth;
  return std::get<BackwardPrefetchPolicy>(value) == BackwardPrefetchPolicy::none ? 0 : 1;
}

BackwardPrefetchPolicy BackwardPrefetch::policy() const {
  if (const auto* policy = std::get_if<BackwardPrefetchPolicy>(&value)) return *policy;
  return depth() == 0 ? BackwardPrefetchPolicy::none : BackwardPrefetchPolicy::pre;
}

bool ReshardAfterForward::reshards() const {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  return std::get<std::int64_t>(value) > 1;
}

bool TrainingSpec::reshards_blocks() const {
  switch (sharding) {
    case Sharding::shard_grad_op:
    case Sharding::hybrid_shard_zero2:
    case Sharding::no_shard:
      return false;
    case Sharding::full_shard:
    case Sharding::hybrid_shard:
      break;
  }
  return !reshard_after_forward || reshard_after_forward->reshards();
}

void TrainingSpec::describe(simcore::Fields<TrainingSpec>& fields) {
  fields.required("strategy", &TrainingSpec::strategy,
                  "Data-parallel strategy: PyTorch's FSDP2 (`fully_shard`), FSDP1 "
                  "(`FullyShardedDataParallel`) or DDP, or DeepSpeed's ZeRO stages.");
  fields.optional("sharding", &TrainingSpec::sharding,
                  "What is sharded. Hybrid sharding shards within a group and replicates across "
                  "groups; `no_shard` is FSDP1 only.");
  fields
      .optional("shard_group", &TrainingSpec::shard_group,
                "Ranks in one shard group of hybrid sharding; by default the GPUs of a node.")
      .at_least(1);
  fields.optional("reshard_after_forward", &TrainingSpec::reshard_after_forward,
                  "FSDP2: free a block's gathered parameters after its forward. A number of ranks "
                  "keeps them sharded over groups of that size instead. By default true.");
  fields.optional("root_rule", &TrainingSpec::root_rule,
                  "FSDP2: whether the root unit keeps its parameters after forward always (`keep`, "
                  "PyTorch up to 2025 or with the argument left out) or follows an explicit "
                  "`reshard_after_forward` (`follow`, later).");
  fields.optional("reshard_after_backward", &TrainingSpec::reshard_after_backward,
                  "FSDP2: free the parameters after each backward, between micro-batches too.");
  fields.optional("backward_prefetch", &TrainingSpec::backward_prefetch,
                  "Gather the next unit early in backward: before (`pre`) or after (`post`, FSDP1) "
                  "the current unit's backward, or not; for FSDP2 a number of units ahead.");
  fields
      .optional("forward_prefetch", &TrainingSpec::forward_prefetch,
                "Units that forward gathers ahead explicitly: FSDP1 0 or 1, FSDP2 any depth. "
                "Streams overlap without it, as far as the CPU is ahead.")
      .range(0, 10'000);
  fields.optional("limit_all_gathers", &TrainingSpec::limit_all_gathers,
                  "FSDP1: the CPU waits so that at most two gathered units are in flight.");
  fields.optional("use_orig_params", &TrainingSpec::use_orig_params,
                  "FSDP1: align each parameter to 16 bytes within the flat parameter.");
  fields.optional("fsdp1_v113", &TrainingSpec::fsdp1_v113,
                  "FSDP1 as in torch 1.13: the limiter is asked again for a prefetched unit, and "
                  "only the root prefetches in forward.");
  fields.optional("pre_unshard_waits_for_compute", &TrainingSpec::pre_unshard_waits_for_compute,
                  "FSDP1 with `use_orig_params`: before each gather the stream of the casts waits "
                  "for compute, as a development branch of 2026 has it; gathers then overlap with "
                  "nothing that was issued before them.");
  fields.optional("separate_reduce_scatter_group", &TrainingSpec::separate_reduce_scatter_group,
                  "FSDP2: reduce-scatters have a communicator of their own, so that they overlap "
                  "with all-gathers.");
  fields.optional(
      "embedding_and_head_units", &TrainingSpec::embedding_and_head_units,
      "FSDP2: the embedding is a unit of its own, and so are final norm and head, which "
      "stay gathered from forward to backward (torchtitan since July 2025). Else they "
      "are the root's. Needs a model with tables of their own.");
  fields.optional("wrap_policy", &TrainingSpec::wrap_policy,
                  "FSDP1: units are the blocks (`transformer_auto_wrap_policy`) or modules of at "
                  "least `min_num_params` elements (`size_based_auto_wrap_policy`).");
  fields
      .optional("min_num_params", &TrainingSpec::min_num_params,
                "FSDP1, `wrap_policy: size`: elements from which on a module is a unit.")
      .at_least(1);
  fields.optional("gradient_sync", &TrainingSpec::gradient_sync,
                  "When gradients are reduced under gradient accumulation: in each micro-batch, in "
                  "the last (`no_sync` before), or all-reduced across replicas in the last.");
  fields.optional("master_dtype", &TrainingSpec::master_dtype,
                  "Element type of the parameters, gradients and optimizer state kept.");
  fields.optional("reduce_dtype", &TrainingSpec::reduce_dtype,
                  "Element type of gradient reduction (FSDP; DDP reduces the master type).");
  fields
      .optional("bucket_cap", &TrainingSpec::bucket_cap,
                "DDP: size at which a gradient bucket closes; by default 1 MiB for the first "
                "bucket and 25 MiB for the others.")
      .at_least(simcore::Bytes{1});
  fields.optional("gradient_as_bucket_view", &TrainingSpec::gradient_as_bucket_view,
                  "DDP: gradients are views into the buckets.");
  fields.optional("static_graph", &TrainingSpec::static_graph,
                  "DDP: buckets are rebuilt after the second iteration, not the first.");
  fields.optional("find_unused_parameters", &TrainingSpec::find_unused_parameters,
                  "DDP: buckets follow the order of registration from the first iteration on and "
                  "are never rebuilt; a map of used parameters is reduced, too.");
  fields.optional("optimizer", &TrainingSpec::optimizer, "Optimizer.");
  fields.optional("optimizer_implementation", &TrainingSpec::optimizer_implementation,
                  "One kernel per operation over all tensors (`foreach`), or one fused kernel. "
                  "DeepSpeed's is fused.");
  fields.optional("gradient_clipping", &TrainingSpec::gradient_clipping,
                  "Clip gradients to a norm before the optimizer step.");
  fields.optional("cpu_offload", &TrainingSpec::cpu_offload,
                  "FSDP: shards and their gradients, both pinned, and the optimizer's states live "
                  "in host memory, of which a node has what `node.cpus.memory` of its topology "
                  "says. FSDP1's `CPUOffload(offload_params=True)`, FSDP2's `CPUOffloadPolicy`.");
  fields.optional("zero", &TrainingSpec::zero, "DeepSpeed's `zero_optimization` settings.");
}

namespace {

/// Reports at a key that was given.
class KeyCheck {
 public:
  KeyCheck(const ConfigNode& node, Diagnostics& diagnostics)
      : node_(node), diagnostics_(diagnostics) {}

  void error(std::string_view key, std::string_view message) {
    diagnostics_.error(node_.where_value(key), fmt::format("{}: {}", key, message));
  }
  /// Warns of keys that say nothing under the strategy.
  void without_effect(std::string_view strategy, std::initializer_list<std::string_view> keys) {
    for (const std::string_view key : keys) {
      if (!node_.has(key)) continue;
      diagnostics_.warning(node_.where_key(key),
                           fmt::format("{} has no effect with strategy {}", key, strategy));
    }
  }

 private:
  const ConfigNode& node_;
  Diagnostics& diagnostics_;
};

void check_offload(const TrainingSpec& spec, KeyCheck& keys) {
  if (spec.cpu_offload && spec.gradient_clipping) {
    keys.error("gradient_clipping", "is not simulated for gradients in host memory (cpu_offload)");
  }
}

void check_fsdp2(const TrainingSpec& spec, KeyCheck& keys) {
  keys.without_effect(
      "fsdp2", {"limit_all_gathers", "use_orig_params", "fsdp1_v113",
                "pre_unshard_waits_for_compute", "wrap_policy", "min_num_params", "bucket_cap",
                "gradient_as_bucket_view", "static_graph", "find_unused_parameters", "zero"});
  check_offload(spec, keys);
  if (spec.sharding == Sharding::no_shard) {
    keys.error("sharding", "fsdp2 always shards: use strategy ddp for replicas");
  }
  if (spec.sharding == Sharding::shard_grad_op && spec.reshard_after_forward &&
      spec.reshard_after_forward->reshards()) {
    keys.error("reshard_after_forward", "contradicts sharding shard_grad_op, which does not");
  }
  if (spec.backward_prefetch.policy() == BackwardPrefetchPolicy::post) {
    keys.error("backward_prefetch", "post is a policy of fsdp1: expected pre, none or a depth");
  }
}

void check_fsdp1(const TrainingSpec& spec, KeyCheck& keys) {
  keys.without_effect(
      "fsdp1", {"reshard_after_forward", "root_rule", "reshard_after_backward",
                "separate_reduce_scatter_group", "embedding_and_head_units", "bucket_cap",
                "gradient_as_bucket_view", "static_graph", "find_unused_parameters", "zero"});
  if (!spec.use_orig_params) {
    keys.without_effect("fsdp1 without use_orig_params", {"pre_unshard_waits_for_compute"});
  }
  check_offload(spec, keys);
  if (spec.wrap_policy == WrapPolicy::block) {
    keys.without_effect("fsdp1 unless wrap_policy is size", {"min_num_params"});
  }
  if (spec.backward_prefetch.depth() > 1) {
    keys.error("backward_prefetch", "fsdp1 prefetches one unit: expected pre, post or none");
  }
  if (spec.forward_prefetch > 1) {
    keys.error("forward_prefetch", "fsdp1 prefetches one unit: expected 0 or 1");
  }
  if (spec.gradient_sync == GradientSync::all_reduce_last) {
    keys.error("gradient_sync", "all_reduce_last is a setting of fsdp2");
  }
}

void check_ddp(const TrainingSpec& spec, KeyCheck& keys) {
  keys.without_effect(
      "ddp", {"sharding", "shard_group", "reshard_after_forward", "root_rule",
              "reshard_after_backward", "backward_prefetch", "forward_prefetch",
              "limit_all_gathers", "use_orig_params", "fsdp1_v113", "pre_unshard_waits_for_compute",
              "separate_reduce_scatter_group", "embedding_and_head_units", "wrap_policy",
              "min_num_params", "reduce_dtype", "cpu_offload", "zero"});
  if (spec.gradient_sync == GradientSync::all_reduce_last) {
    keys.error("gradient_sync", "all_reduce_last is a setting of fsdp2");
  }
}

/// DeepSpeed has its own settings, in a section of its own; some belong to stage 3 or to the
/// others.
void check_zero(const TrainingSpec& spec, const ConfigNode& node, Diagnostics& diagnostics) {
  const std::string strategy = simcore::print_value(spec.strategy);
  KeyCheck(node, diagnostics)
      .without_effect(strategy, {"sharding",
                                 "shard_group",
                                 "reshard_after_forward",
                                 "root_rule",
                                 "reshard_after_backward",
                                 "backward_prefetch",
                                 "forward_prefetch",
                                 "limit_all_gathers",
                                 "use_orig_params",
                                 "fsdp1_v113",
                                 "pre_unshard_waits_for_compute",
                                 "separate_reduce_scatter_group",
                                 "embedding_and_head_units",
                                 "wrap_policy",
                                 "min_num_params",
                                 "gradient_sync",
                                 "reduce_dtype",
                                 "bucket_cap",
                                 "gradient_as_bucket_view",
                                 "static_graph",
                                 "find_unused_parameters",
                                 "optimizer_implementation",
                                 "cpu_offload"});
  const ConfigNode* settings = node.find("zero");
  if (settings == nullptr) return;
  KeyCheck keys(*settings, diagnostics);
  if (spec.strategy == Strategy::zero3) {
    keys.without_effect(strategy, {"allgather_bucket_size", "use_multi_rank_bucket_allreduce"});
  } else {
    keys.without_effect(strategy,
                        {"stage3_prefetch_bucket_size", "stage3_max_live_parameters",
                         "stage3_max_reuse_distance", "stage3_param_persistence_threshold",
                         "stage3_model_persistence_threshold", "sub_group_size"});
  }
}

}  // namespace

void TrainingSpec::check(const TrainingSpec& spec, const ConfigNode& node,
                         Diagnostics& diagnostics) {
  KeyCheck keys(node, diagnostics);
  switch (spec.strategy) {
    case Strategy::fsdp2:
      return check_fsdp2(spec, keys);
    case Strategy::fsdp1:
      return check_fsdp1(spec, keys);
    case Strategy::ddp:
      return check_ddp(spec, keys);
    case Strategy::zero1:
    case Strategy::zero2:
    case Strategy::zero3:
      return check_zero(spec, node, diagnostics);
  }
}

std::expected<GroupSizes, std::string> group_sizes(const TrainingSpec& spec, std::int64_t world,
                                                   std::int64_t ranks_per_node) {
  if (spec.is_zero()) return GroupSizes{world, world, 1};
  if (spec.strategy == Strategy::ddp || spec.sharding == Sharding::no_shard) {
    return GroupSizes{world, 1, world};
  }
  const std::int64_t shard = spec.hybrid() ? spec.shard_group.value_or(ranks_per_node) : world;
  if (shard < 1 || world % shard != 0) {
    return std::unexpected(
        fmt::format("{} ranks cannot be divided into shard groups of {}", world, shard));
  }
  if (spec.reshard_after_forward) {
    const auto* ranks = std::get_if<std::int64_t>(&spec.reshard_after_forward->value);
    if (ranks && shard % *ranks != 0) {
      return std::unexpected(fmt::format(
          "a shard group of {} ranks cannot be divided into groups of {} (reshard_after_forward)",
          shard, *ranks));
    }
  }
  return GroupSizes{world, shard, world / shard};
}

}  // namespace shardsim::training

namespace shardsim::simcore {

using training::BackwardPrefetch;
using training::BackwardPrefetchPolicy;
using training::ReshardAfterForward;

std::optional<BackwardPrefetch> Codec<BackwardPrefetch>::read(const ConfigNode& node,
                                                              ReadContext& context) {
  if (!node.looks_like_integer()) {
    const auto policy = read_value<BackwardPrefetchPolicy>(node, context);
    if (!policy) return std::nullopt;
    return BackwardPrefetch{*policy};
  }
  const auto depth = read_value<std::int64_t>(node, context);
  if (!depth) return std::nullopt;
  if (*depth < 0 || *depth > 10'000) {
    context.expected(node, "pre, post, none or a depth between 0 and 10000");
    return std::nullopt;
  }
  return BackwardPrefetch{*depth};
}

std::string Codec<BackwardPrefetch>::print(const BackwardPrefetch& value) {
  return std::visit([](const auto& form) { return print_value(form); }, value.value);
}

TypeSchema Codec<BackwardPrefetch>::schema() {
  return choice_of({schema_of<BackwardPrefetchPolicy>(), schema_of<std::int64_t>()});
}

std::optional<ReshardAfterForward> Codec<ReshardAfterForward>::read(const ConfigNode& node,
                                                                    ReadContext& context) {
  if (node.looks_like_bool()) {
    const auto flag = read_value<bool>(node, context);
    if (!flag) return std::nullopt;
    return ReshardAfterForward{*flag};
  }
  if (!node.looks_like_integer()) {
    context.expected(node, "true, false or a number of ranks");
    return std::nullopt;
  }
  const auto ranks = read_value<std::int64_t>(node, context);
  if (!ranks) return std::nullopt;
  if (*ranks < 1) {
    context.expected(node, "true, false or a number of ranks of at least 1");
    return std::nullopt;
  }
  return ReshardAfterForward{*ranks};
}

std::string Codec<ReshardAfterForward>::print(const ReshardAfterForward& value) {
  return std::visit([](const auto& form) { return print_value(form); }, value.value);
}

TypeSchema Codec<ReshardAfterForward>::schema() {
  return choice_of({schema_of<bool>(), schema_of<std::int64_t>()});
}

}  // namespace shardsim::simcore

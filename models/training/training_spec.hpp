// The `training:` section of a scenario: how the model is sharded, reduced and updated.
//
// Keys are PyTorch's arguments where it has them. The sources of the defaults are
// FullyShardedDataParallel, fully_shard and DistributedDataParallel of PyTorch 2.x.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <variant>

#include "models/gpu/kernel_work.hpp"
#include "models/training/zero_spec.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::training {

enum class Strategy : std::uint8_t { fsdp2, fsdp1, ddp, zero1, zero2, zero3 };
enum class Sharding : std::uint8_t {
  full_shard,
  shard_grad_op,
  hybrid_shard,
  hybrid_shard_zero2,  ///< shard_grad_op within the group, replicated across groups
  no_shard,
};
/// Which modules FSDP1 makes units of: blocks, or whatever is large enough.
enum class WrapPolicy : std::uint8_t { block, size };
enum class OptimizerKind : std::uint8_t { adamw, sgd };
enum class OptimizerImplementation : std::uint8_t { foreach, fused };
/// Element types of master parameters and of reductions.
enum class ElementType : std::uint8_t { fp32, bf16, fp16 };

gpu::DataType data_type(ElementType type);

/// FSDP1 names a policy, FSDP2 a depth; the two spellings share the key.
enum class BackwardPrefetchPolicy : std::uint8_t { pre, post, none };

/// `backward_prefetch: pre | post | none | DEPTH`.
struct BackwardPrefetch {
  std::variant<BackwardPrefetchPolicy, std::int64_t> value = BackwardPrefetchPolicy::pre;

  /// Units gathered ahead; `pre` and `post` are one deep.
  std::int64_t depth() const;
  /// Depth 0 is `none`, any other `pre`.
  BackwardPrefetchPolicy policy() const;
  bool operator==(const BackwardPrefetch&) const = default;
};

/// `reshard_after_forward: true | false | RANKS`; a number of ranks keeps each unit sharded over
/// groups of that size between forward and backward.
struct ReshardAfterForward {
  std::variant<bool, std::int64_t> value = true;

  /// A group of one rank is the whole unit.
  bool reshards() const;
  bool operator==(const ReshardAfterForward&) const = default;
};

/// Whether an explicit `reshard_after_forward` speaks for the root unit, too. Releases up to 2025
/// never resharded the root; later ones keep it only if the argument is left out.
enum class RootRule : std::uint8_t { keep, follow };

/// Gradient reduction over the micro-batches of a step.
enum class GradientSync : std::uint8_t {
  every_micro_batch,
  last_micro_batch,  ///< no_sync, set_requires_gradient_sync(False) before
  all_reduce_last,   ///< FSDP2, hybrid: reduce-scatter always, all-reduce in the last
};

struct TrainingSpec {
  Strategy strategy = Strategy::fsdp2;
  Sharding sharding = Sharding::full_shard;
  std::optional<std::int64_t> shard_group;
  std::optional<ReshardAfterForward> reshard_after_forward;
  RootRule root_rule = RootRule::keep;
  bool reshard_after_backward = true;
  BackwardPrefetch backward_prefetch;
  std::int64_t forward_prefetch = 0;
  bool limit_all_gathers = true;
  bool use_orig_params = false;
  bool fsdp1_v113 = false;
  bool pre_unshard_waits_for_compute = false;
  bool separate_reduce_scatter_group = false;
  bool embedding_and_head_units = false;
  WrapPolicy wrap_policy = WrapPolicy::block;
  std::int64_t min_num_params = 100'000'000;
  GradientSync gradient_sync = GradientSync::every_micro_batch;
  ElementType master_dtype = ElementType::fp32;
  ElementType reduce_dtype = ElementType::fp32;
  std::optional<simcore::Bytes> bucket_cap;
  bool gradient_as_bucket_view = false;
  bool static_graph = false;
  bool find_unused_parameters = false;
  OptimizerKind optimizer = OptimizerKind::adamw;
  OptimizerImplementation optimizer_implementation = OptimizerImplementation::foreach;
  bool gradient_clipping = false;
  bool cpu_offload = false;
  ZeroSpec zero;

  /// FSDP's: other strategies keep nothing in host memory.
  bool offloads() const {
    return cpu_offload && (strategy == Strategy::fsdp1 || strategy == Strategy::fsdp2);
  }
  bool is_zero() const {
    return strategy == Strategy::zero1 || strategy == Strategy::zero2 ||
           strategy == Strategy::zero3;
  }
  /// DeepSpeed brings its own fused Adam.
  OptimizerImplementation implementation() const {
    return is_zero() ? OptimizerImplementation::fused : optimizer_implementation;
  }
  bool hybrid() const {
    return sharding == Sharding::hybrid_shard || sharding == Sharding::hybrid_shard_zero2;
  }
  /// Between forward and backward, parameters of blocks are freed (or sharded over a smaller
  /// group).
  bool reshards_blocks() const;

  static void describe(simcore::Fields<TrainingSpec>& fields);
  static void check(const TrainingSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

/// Sizes of the groups that a strategy communicates in: world = shard x replicas.
struct GroupSizes {
  std::int64_t world = 1;
  std::int64_t shard = 1;
  std::int64_t replicas = 1;
};

/// The groups for `world` ranks, `ranks_per_node` of them in a node: hybrid sharding shards within
/// a node unless `shard_group` says otherwise. The error says which numbers do not divide.
std::expected<GroupSizes, std::string> group_sizes(const TrainingSpec& spec, std::int64_t world,
                                                   std::int64_t ranks_per_node);

}  // namespace shardsim::training

namespace shardsim::simcore {

template <>
struct EnumNames<training::Strategy> {
  static constexpr auto values = std::to_array<EnumName<training::Strategy>>({
      {"fsdp2", training::Strategy::fsdp2},
      {"fsdp1", training::Strategy::fsdp1},
      {"ddp", training::Strategy::ddp},
      {"zero1", training::Strategy::zero1},
      {"zero2", training::Strategy::zero2},
      {"zero3", training::Strategy::zero3},
  });
};

template <>
struct EnumNames<training::Sharding> {
  static constexpr auto values = std::to_array<EnumName<training::Sharding>>({
      {"full_shard", training::Sharding::full_shard},
      {"shard_grad_op", training::Sharding::shard_grad_op},
      {"hybrid_shard", training::Sharding::hybrid_shard},
      {"hybrid_shard_zero2", training::Sharding::hybrid_shard_zero2},
      {"no_shard", training::Sharding::no_shard},
  });
};

template <>
struct EnumNames<training::WrapPolicy> {
  static constexpr auto values = std::to_array<EnumName<training::WrapPolicy>>(
      {{"block", training::WrapPolicy::block}, {"size", training::WrapPolicy::size}});
};

template <>
struct EnumNames<training::OptimizerKind> {
  static constexpr auto values = std::to_array<EnumName<training::OptimizerKind>>(
      {{"adamw", training::OptimizerKind::adamw}, {"sgd", training::OptimizerKind::sgd}});
};

template <>
struct EnumNames<training::OptimizerImplementation> {
  static constexpr auto values = std::to_array<EnumName<training::OptimizerImplementation>>(
      {{"foreach", training::OptimizerImplementation::foreach},
       {"fused", training::OptimizerImplementation::fused}});
};

template <>
struct EnumNames<training::ElementType> {
  static constexpr auto values =
      std::to_array<EnumName<training::ElementType>>({{"fp32", training::ElementType::fp32},
                                                      {"bf16", training::ElementType::bf16},
                                                      {"fp16", training::ElementType::fp16}});
};

template <>
struct EnumNames<training::BackwardPrefetchPolicy> {
  static constexpr auto values = std::to_array<EnumName<training::BackwardPrefetchPolicy>>(
      {{"pre", training::BackwardPrefetchPolicy::pre},
       {"post", training::BackwardPrefetchPolicy::post},
       {"none", training::BackwardPrefetchPolicy::none}});
};

template <>
struct EnumNames<training::RootRule> {
  static constexpr auto values = std::to_array<EnumName<training::RootRule>>(
      {{"keep", training::RootRule::keep}, {"follow", training::RootRule::follow}});
};

template <>
struct EnumNames<training::GradientSync> {
  static constexpr auto values = std::to_array<EnumName<training::GradientSync>>(
      {{"every_micro_batch", training::GradientSync::every_micro_batch},
       {"last_micro_batch", training::GradientSync::last_micro_batch},
       {"all_reduce_last", training::GradientSync::all_reduce_last}});
};

template <>
struct Codec<training::BackwardPrefetch> {
  static std::optional<training::BackwardPrefetch> read(const ConfigNode& node,
                                                        ReadContext& context);
  static std::string print(const training::BackwardPrefetch& value);
  static TypeSchema schema();
};

template <>
struct Codec<training::ReshardAfterForward> {
  static std::optional<training::ReshardAfterForward> read(const ConfigNode& node,
                                                           ReadContext& context);
  static std::string print(const training::ReshardAfterForward& value);
  static TypeSchema schema();
};

}  // namespace shardsim::simcore

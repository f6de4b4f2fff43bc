// The `training:` section of a scenario: how the model is sharded, reduced and updated.
#pragma once

#include <cstdint>
#include <optional>

#include "models/gpu/kernel_work.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::training {

enum class Strategy : std::uint8_t { fsdp2, fsdp1, ddp, zero1, zero2, zero3 };
enum class Sharding : std::uint8_t { full_shard, shard_grad_op, hybrid_shard, no_shard };
enum class OptimizerKind : std::uint8_t { adamw, sgd };
enum class OptimizerImplementation : std::uint8_t { foreach, fused };

/// FSDP1 names a policy, FSDP2 a depth; the two spellings share the key.
enum class BackwardPrefetchPolicy : std::uint8_t { pre, post, none };

}  // namespace shardsim::training

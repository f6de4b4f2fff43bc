// The `training.zero:` section: DeepSpeed's `zero_optimization`, under DeepSpeed's keys.
//
// Defaults are those of DeepSpeed 0.19 (deepspeed/runtime/zero/config.py). Sizes count elements, as
// DeepSpeed's do.
#pragma once

#include <cstdint>
#include <optional>

#include "simcore/config/fields.hpp"

namespace shardsim::training {

struct ZeroSpec {
  std::int64_t reduce_bucket_size = 500'000'000;
  std::int64_t allgather_bucket_size = 500'000'000;
  std::optional<bool> overlap_comm;
  bool contiguous_gradients = true;
  bool reduce_scatter = true;
  bool use_multi_rank_bucket_allreduce = true;
  std::int64_t stage3_prefetch_bucket_size = 50'000'000;
  std::int64_t stage3_max_live_parameters = 1'000'000'000;
  std::int64_t stage3_max_reuse_distance = 1'000'000'000;
  std::int64_t stage3_param_persistence_threshold = 100'000;
  std::optional<std::int64_t> stage3_model_persistence_threshold;
  std::int64_t sub_group_size = 1'000'000'000;

  /// Stage 3 overlaps unless told otherwise, stages 1 and 2 do not.
  bool overlaps(bool stage3) const { return overlap_comm.value_or(stage3); }

  static void describe(simcore::Fields<ZeroSpec>& fields);
};

}  // namespace shardsim::training

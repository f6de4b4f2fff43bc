#include "models/training/zero_spec.hpp"

namespace shardsim::training {

namespace {

/// Far beyond any model, and far from overflow when counted in bytes.
constexpr std::int64_t most_elements = 1'000'000'000'000'000;

void describe_stage3(simcore::Fields<ZeroSpec>& fields) {
  fields
      .optional("stage3_prefetch_bucket_size", &ZeroSpec::stage3_prefetch_bucket_size,
                "Stage 3: elements that one prefetch gathers ahead; 0 for none.")
      .range(0, most_elements);
  fields
      .optional("stage3_max_live_parameters", &ZeroSpec::stage3_max_live_parameters,
                "Stage 3: gathered elements beyond which nothing is prefetched.")
      .range(0, most_elements);
  fields
      .optional("stage3_max_reuse_distance", &ZeroSpec::stage3_max_reuse_distance,
                "Stage 3: parameters used again within so many elements stay gathered.")
      .range(0, most_elements);
  fields
      .optional("stage3_param_persistence_threshold", &ZeroSpec::stage3_param_persistence_threshold,
                "Stage 3: parameters of at most so many elements are always gathered.")
      .range(0, most_elements);
  fields
      .optional("stage3_model_persistence_threshold", &ZeroSpec::stage3_model_persistence_threshold,
                "Stage 3: limit to all elements that are always gathered; by default none.")
      .range(0, most_elements);
  fields
      .optional("sub_group_size", &ZeroSpec::sub_group_size,
                "Stage 3: elements of a rank's partition that one optimizer call updates.")
      .range(1, most_elements);
}

}  // namespace

void ZeroSpec::describe(simcore::Fields<ZeroSpec>& fields) {
  fields
      .optional("reduce_bucket_size", &ZeroSpec::reduce_bucket_size,
                "Elements of the bucket in which gradients are reduced.")
      .range(1, most_elements);
  fields
      .optional("allgather_bucket_size", &ZeroSpec::allgather_bucket_size,
                "Stages 1 and 2: read for the sake of existing files. NCCL gathers a parameter "
                "group in one operation, whatever its size.")
      .range(1, most_elements);
  fields.optional("overlap_comm", &ZeroSpec::overlap_comm,
                  "Communicate beside compute, on streams of their own; by default in stage 3.");
  fields.optional("contiguous_gradients", &ZeroSpec::contiguous_gradients,
                  "Copy gradients into a bucket buffer as they are made.");
  fields.optional("reduce_scatter", &ZeroSpec::reduce_scatter,
                  "Reduce each part of a bucket for its owner; otherwise the whole for all.");
  fields.optional("use_multi_rank_bucket_allreduce", &ZeroSpec::use_multi_rank_bucket_allreduce,
                  "Stages 1 and 2: `reduce_scatter` all-reduces the bucket and each owner keeps "
                  "its part; otherwise there is one reduce for every owner.");
  describe_stage3(fields);
}

}  // namespace shardsim::training

// The `workload.explicit` section: times instead of a model - a profile of one's own, or a textbook
// case.
//
// Describes an embedding, equal blocks and a head, of which embedding and head make up the root
// unit. Times of collectives count from the arrival of the last rank.
#pragma once

#include <cstdint>
#include <optional>

#include "simcore/config/fields.hpp"
#include "simcore/time.hpp"

namespace shardsim::training {

struct ExplicitSpec {
  std::int64_t blocks = 1;

  simcore::SimTime embedding_forward;
  simcore::SimTime block_forward;
  simcore::SimTime head_forward;
  simcore::SimTime head_backward;
  simcore::SimTime block_backward;
  simcore::SimTime embedding_backward;
  simcore::SimTime optimizer;

  // Needed only by the strategies that use them.
  std::optional<simcore::SimTime> all_gather_root;
  std::optional<simcore::SimTime> all_gather_block;
  std::optional<simcore::SimTime> reduce_scatter_root;
  std::optional<simcore::SimTime> reduce_scatter_block;
  std::optional<simcore::SimTime> all_reduce_root;
  std::optional<simcore::SimTime> all_reduce_block;
  std::optional<simcore::SimTime> ddp_head;
  std::optional<simcore::SimTime> ddp_block;
  std::optional<simcore::SimTime> ddp_embedding;

  // Elements of the parameters, which ZeRO counts in.
  std::optional<std::int64_t> embedding_parameters;
  std::optional<std::int64_t> block_parameters;
  std::optional<std::int64_t> head_parameters;

  simcore::SimTime copy_in;
  simcore::SimTime copy_out;
  simcore::SimTime gradient_copy_in;
  simcore::SimTime host_copy;

  static void describe(simcore::Fields<ExplicitSpec>& fields) {
    constexpr simcore::SimTime zero;
    fields.required("blocks", &ExplicitSpec::blocks, "Number of equal blocks.").range(1, 10'000);
    fields
        .optional("embedding_forward", &ExplicitSpec::embedding_forward,
                  "Forward time of the embedding.")
        .at_least(zero);
    fields.required("block_forward", &ExplicitSpec::block_forward, "Forward time of one block.")
        .at_least(zero);
    fields.optional("head_forward", &ExplicitSpec::head_forward, "Forward time of the head.")
        .at_least(zero);
    fields.optional("head_backward", &ExplicitSpec::head_backward, "Backward time of the head.")
        .at_least(zero);
    fields.required("block_backward", &ExplicitSpec::block_backward, "Backward time of one block.")
        .at_least(zero);
    fields
        .optional("embedding_backward", &ExplicitSpec::embedding_backward,
                  "Backward time of the embedding.")
        .at_least(zero);
    fields.optional("optimizer", &ExplicitSpec::optimizer, "Time of the optimizer step.")
        .at_least(zero);
    describe_collectives(fields);
    describe_sizes(fields);
    fields
        .optional("copy_in", &ExplicitSpec::copy_in,
                  "FSDP2 and ZeRO-3: copy of a unit's shards into the all-gather's buffer.")
        .at_least(zero);
    fields
        .optional("copy_out", &ExplicitSpec::copy_out,
                  "FSDP2 and ZeRO-3: copy of the gathered buffer into parameters.")
        .at_least(zero);
    fields
        .optional(
            "gradient_copy_in", &ExplicitSpec::gradient_copy_in,
            "FSDP2: copy of gradients into the reduce-scatter's buffer; ZeRO: of each gradient "
            "into its bucket.")
        .at_least(zero);
    fields
        .optional("host_copy", &ExplicitSpec::host_copy,
                  "cpu_offload: copy of a unit's shard from host memory, or of its gradient to it.")
        .at_least(zero);
  }

 private:
  static void describe_sizes(simcore::Fields<ExplicitSpec>& fields) {
    constexpr std::int64_t most = 1'000'000'000'000;
    fields
        .optional("embedding_parameters", &ExplicitSpec::embedding_parameters,
                  "ZeRO: elements of the embedding's parameters, which make a module of their own. "
                  "Prescribed times of collectives are divided by elements.")
        .range(0, most);
    fields
        .optional("block_parameters", &ExplicitSpec::block_parameters,
                  "ZeRO: elements of a block's parameters, one module.")
        .range(0, most);
    fields
        .optional("head_parameters", &ExplicitSpec::head_parameters,
                  "ZeRO: elements of the head's parameters, one module.")
        .range(0, most);
  }
  static void describe_collectives(simcore::Fields<ExplicitSpec>& fields) {
    constexpr simcore::SimTime zero;
    fields
        .optional("all_gather_root", &ExplicitSpec::all_gather_root,
                  "All-gather of the root unit (embedding and head).")
        .at_least(zero);
    fields.optional("all_gather_block", &ExplicitSpec::all_gather_block, "All-gather of one block.")
        .at_least(zero);
    fields
        .optional("reduce_scatter_root", &ExplicitSpec::reduce_scatter_root,
                  "Reduce-scatter of the root unit.")
        .at_least(zero);
    fields
        .optional("reduce_scatter_block", &ExplicitSpec::reduce_scatter_block,
                  "Reduce-scatter of one block.")
        .at_least(zero);
    fields
        .optional("all_reduce_root", &ExplicitSpec::all_reduce_root,
                  "All-reduce of the root unit: of its shard across replicas (hybrid sharding), or "
                  "of its whole gradient (`no_shard`, ZeRO-1 and 2).")
        .at_least(zero);
    fields.optional("all_reduce_block", &ExplicitSpec::all_reduce_block, "The same for one block.")
        .at_least(zero);
    fields
        .optional("ddp_head", &ExplicitSpec::ddp_head, "DDP: all-reduce of the bucket of the head.")
        .at_least(zero);
    fields
        .optional("ddp_block", &ExplicitSpec::ddp_block,
                  "DDP: all-reduce of the bucket of one block.")
        .at_least(zero);
    fields
        .optional("ddp_embedding", &ExplicitSpec::ddp_embedding,
                  "DDP: all-reduce of the bucket of the embedding.")
        .at_least(zero);
  }
};

}  // namespace shardsim::training

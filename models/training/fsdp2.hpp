// FSDP2 (PyTorch's fully_shard) as a program: the root and each block are one parameter group; if
// asked for, embedding and head are groups of their own and the root has no parameters left.
//
// Models: per-parameter sharding; copy-in, all-gather and copy-out with double buffering in
// forward; the explicit and the default backward prefetch; reduce-scatter with one input
// outstanding; hybrid sharding with its all-reduce stream; resharding after forward to a shard, to
// a smaller group, or not; gradient accumulation; every buffer, in the pool of the stream that
// allocates it.
// Assumes implicit forward prefetch (no async unshard), one forward and one backward per
// micro-batch, and that the root's post-backward runs in the final callback (its inputs are
// integers).
// With CPU offload sharded parameters, gradients and optimizer live in host memory: copies to the
// GPU before each all-gather, copies back after each reduction, for which the CPU waits in the
// final callback - or at once, if it adds them to gradients that are there already. Leaves out
// sharding on other dimensions than 0, and torch.compile. Source:
// torch/distributed/fsdp/_fully_shard/{_fsdp_param_group,_fsdp_state,_fsdp_collectives}.py.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "models/training/fsdp_units.hpp"
#include "models/training/optimizer_step.hpp"
#include "models/training/sharding_strategy.hpp"
#include "models/training/training_spec.hpp"
#include "models/training/unit_recorder.hpp"

namespace shardsim::training {

class Fsdp2 final : public ShardingStrategy {
 public:
  /// Creates streams and communicators ("shard", "reduce_scatter" if those have their own,
  /// "repl" if there are replicas, "reshard" if parameters are resharded to a smaller group) and
  /// allocates the sharded parameters.
  Fsdp2(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder);

  void begin_micro_batch(const MicroBatch& micro_batch) override { micro_batch_ = micro_batch; }
  void pre_forward(int index) override;
  void post_forward(int index) override;
  void pre_backward(int index) override;
  void post_backward(int index) override;
  void after_embedding_forward() override;
  void before_head_forward() override;
  void after_head_backward() override;
  void before_embedding_backward() override;
  void finish_backward() override;
  void optimizer_step() override;

 private:
  struct AllGatherResult {
    Buffer output;
    cuda::EventId event = 0;
  };

  /// A parameter group; its state follows FSDPParamGroup.
  struct Unit {
    int index = root_unit;
    PerParameterUnit sizes;
    bool reshard_after_forward = true;
    bool reshard_to_group = false;  ///< keeps a slice over the smaller group between the passes
    std::vector<int> forward_prefetch;
    std::vector<int> backward_prefetch;

    bool unsharded = false;
    bool sharded_over_group = false;
    std::optional<AllGatherResult> all_gather_result;
    std::vector<Buffer> parameters;    ///< unsharded
    std::vector<Buffer> group_slices;  ///< this rank's slice over the smaller group
    std::optional<cuda::EventId> reshard_after_forward_event;
    std::vector<std::size_t> post_forward_indices;
    std::vector<Buffer> gradients;  ///< unsharded, of this backward and kept from earlier ones
    Buffer sharded_gradient;
    bool host_gradient = false;  ///< offload: the host holds one already
    std::optional<cuda::EventId> offload_event;
    Buffer partial_reduce_output;  ///< reduce-scattered but not yet all-reduced
    Buffer all_reduce_input;       ///< lives until the end of backward
    std::optional<cuda::EventId> post_reduce_event;
    bool gradients_widened = false;  ///< the kept ones are in the reduction's type
  };

  /// A forward all-gather whose copy-out may still run.
  struct ParkedAllGather {
    Buffer output;
    cuda::EventId copy_out_event = 0;
  };
  struct ReduceScatterState {
    Buffer input;
    cuda::EventId event = 0;
  };
  enum class Phase : std::uint8_t { forward, backward };

  void create_units(const GroupSizes& groups);
  void add_unit(int index, const std::vector<ParameterShape>& parameters, bool reshards,
                std::vector<OptimizedTensor>& tensors);
  void set_prefetch_lists();
  Unit& unit(int index);
  /// The group that the root's forward (or backward) begins with, and the one that it ends with.
  Unit& first_of_root() { return unit(parts_ ? embedding_unit : root_unit); }
  Unit& last_of_root() { return unit(parts_ ? head_unit : root_unit); }

  void root_pre_forward();
  void begin_forward(Unit& current);
  void end_forward(Unit& current);
  void begin_backward(Unit& current);
  void unshard(Unit& unit);
  Buffer copy_in(Unit& unit, std::int64_t ranks);
  void wait_for_unshard(Unit& unit, Phase phase);
  void copy_out(Unit& unit);
  void release_parked_all_gather();
  void all_gather_streams_wait(cuda::EventId event);
  void reshard(Unit& unit, Phase phase);
  void shard_over_group(Unit& unit);
  void release_all(std::vector<Buffer>& buffers);
  void default_backward_prefetch(Unit& current);

  void run_post_backward(Unit& current);
  void collect_gradients(Unit& unit);
  void keep_gradients(Unit& unit);
  void wait_for_reduce_scatter();
  void reduce_gradients(Unit& unit);
  ReduceScatterState gradient_copy_in(Unit& unit);
  Buffer all_reduce(Unit& unit, Buffer reduced);
  void store_sharded_gradient(Unit& unit, cuda::StreamId stream, Buffer reduced);
  void offload_gradient(Unit& unit, cuda::StreamId stream, Buffer gradient);
  bool divides_explicitly() const { return reduce_type_ == gpu::DataType::fp16; }

  TrainingSpec spec_;
  UnitRecorder& recorder_;
  gpu::DataType compute_type_;
  gpu::DataType reduce_type_;
  gpu::DataType master_type_;
  std::int64_t replicas_;
  std::int64_t shard_ranks_;
  std::int64_t group_ranks_ = 0;  ///< of the smaller group, 0 without
  bool parts_;                    ///< embedding and head are units

  cuda::StreamId copy_in_stream_ = 0;
  cuda::StreamId all_gather_stream_ = 0;
  cuda::StreamId reduce_scatter_stream_ = 0;
  cuda::StreamId all_reduce_stream_ = 0;
  cuda::CommunicatorId shard_communicator_ = 0;
  cuda::CommunicatorId reduce_communicator_ = 0;  ///< of reduce-scatters
  cuda::CommunicatorId replica_communicator_ = 0;
  cuda::CommunicatorId group_communicator_ = 0;

  MicroBatch micro_batch_;
  std::vector<Unit> units_;  ///< the root first, then blocks, then its parts
  std::vector<int> post_forward_order_;
  std::optional<ParkedAllGather> parked_all_gather_;
  std::optional<ReduceScatterState> reduce_scatter_state_;
  std::optional<OptimizerStep> optimizer_;
};

}  // namespace shardsim::training

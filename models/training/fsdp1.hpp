// FSDP1 (PyTorch's FullyShardedDataParallel) as a program: the root and each block, or each module
// that wrap_policy.hpp makes a unit, are one flat parameter.
//
// Models: flat parameters with their padding; the streams unshard, pre_unshard, post_backward and,
// for hybrid sharding, all_reduce; the rate limiter, whose queue of free events lives as long as
// the model; backward prefetch before or after the current unit's backward, and forward prefetch;
// the low-precision shard; storage that is marked by record_stream and dropped at CPU time;
// gradient accumulation with and without no_sync.
// Assumes one forward and one backward per micro-batch and all parameters trainable.
// With CPU offload shards, gradients and optimizer live in host memory: copies to the GPU on the
// pre_unshard stream, copies back after the reduction, a CPU wait at the end of backward.
// Leaves out units with several flat parameters.
// Source: torch/distributed/fsdp/{_runtime_utils,_flat_param,_limiter_utils,_exec_order_utils}.py,
// mid-2023 and later; `fsdp1_v113` for torch 1.13.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/training/fsdp_units.hpp"
#include "models/training/optimizer_step.hpp"
#include "models/training/sharding_strategy.hpp"
#include "models/training/training_spec.hpp"
#include "models/training/unit_recorder.hpp"
#include "models/training/wrap_policy.hpp"

namespace shardsim::training {

class Fsdp1 final : public ShardingStrategy {
 public:
  /// Creates streams and communicators ("shard", and "repl" for hybrid sharding; "world" alone
  /// without sharding) and allocates the flat parameters' shards.
  Fsdp1(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder);
  ~Fsdp1() override;
  Fsdp1(const Fsdp1&) = delete;
  Fsdp1& operator=(const Fsdp1&) = delete;

  void begin_micro_batch(const MicroBatch& micro_batch) override { micro_batch_ = micro_batch; }
  void pre_forward(int index) override;
  void post_forward(int index) override;
  void pre_backward(int index) override;
  void post_backward(int index) override;
  void finish_backward() override;
  void optimizer_step() override;

 private:
  /// A flat parameter; its state follows FlatParamHandle.
  struct Unit {
    int index = root_unit;
    FlatUnit sizes;

    bool unsharded = false;
    bool prefetched = false;
    bool needs_forward_unshard = false;
    bool needs_backward_unshard = false;
    std::optional<std::size_t> post_forward_index;
    Buffer low_precision_shard;  ///< or, with offload and no cast, the shard's copy
    Buffer full_parameter;
    Buffer unsharded_gradient;  ///< flat; kept over no_sync micro-batches, and without sharding
    gpu::DataType unsharded_gradient_type = gpu::DataType::fp32;
    Buffer sharded_gradient;

    // Wrapping by size: where the hooks of modules stand in the unit.
    std::size_t modules = 0;
    std::size_t modules_left = 0;  ///< of the forward that is under way
    bool in_backward = false;
    std::size_t parameters = 0;
    std::vector<cuda::TensorId> fresh;  ///< gradients of this backward
  };
  struct FreeEvent {
    cuda::EventId event = 0;
    std::string name;
  };

  void create_units();
  void add_unit(const std::vector<ParameterShape>& parameters);
  void wrap();
  bool is_called_for(int index) const { return !wrapping_ || index == root_unit; }
  void at_module(const ModulePass& pass);
  void gradient_ready(const Gradient& gradient);
  std::vector<cuda::TensorId> take_gradients(Unit& unit);

  void before_forward(Unit& current);
  void after_forward(Unit& current);
  void before_backward(Unit& current);
  void after_backward(Unit& current);
  Unit& unit(int index) { return units_[static_cast<std::size_t>(index + 1)]; }
  bool mixed_precision() const { return compute_type_ != master_type_; }

  void root_pre_forward();
  void unshard(Unit& unit);
  bool pre_unshard(Unit& unit);
  void wait_for_free_event(const Unit& unit);
  void all_gather(Unit& unit);
  void reshard(Unit& unit, bool free, const char* pass);
  void prefetch_forward(const Unit& current);
  void prefetch_backward(const Unit& current);
  bool frees_in_backward() const;

  void collect_gradient(Unit& unit);
  void reduce_gradient(Unit& unit);
  void reduce_scatter(Unit& unit, const Buffer& gradient);
  void reduce_whole(Unit& unit, Buffer gradient);
  void divide(cuda::StreamId stream, const Unit& unit, std::int64_t elements, std::int64_t factor,
              const char* name);
  void store_gradient(Unit& unit, cuda::StreamId stream, Buffer reduced);
  bool is_hybrid() const { return replicas_ > 1 && sharded_; }

  TrainingSpec spec_;
  UnitRecorder& recorder_;
  gpu::DataType compute_type_;
  gpu::DataType reduce_type_;
  gpu::DataType master_type_;
  bool sharded_;
  bool reshards_after_forward_;
  std::int64_t shard_ranks_;
  std::int64_t replicas_;
  std::int64_t predivide_ = 1;  ///< predivide_ x postdivide_ = ranks that are averaged over
  std::int64_t postdivide_ = 1;

  cuda::StreamId unshard_stream_ = 0;
  cuda::StreamId pre_unshard_stream_ = 0;
  cuda::StreamId post_backward_stream_ = 0;
  cuda::StreamId all_reduce_stream_ = 0;
  cuda::CommunicatorId shard_communicator_ = 0;  ///< the world without sharding
  cuda::CommunicatorId replica_communicator_ = 0;

  MicroBatch micro_batch_;
  std::vector<Unit> units_;           ///< the root first
  std::optional<Wrapping> wrapping_;  ///< by size
  std::map<std::pair<int, std::size_t>, std::size_t> unit_of_parameter_;
  std::vector<OptimizedTensor> tensors_;
  std::deque<FreeEvent> free_events_;
  std::vector<int> post_forward_order_;
  bool forward_order_known_ = false;  ///< recorded in the first iteration
  std::optional<OptimizerStep> optimizer_;
};

}  // namespace shardsim::training

// DeepSpeed's ZeRO stage 3 as a program: every parameter is partitioned by itself and gathered
// around each module that owns it.
//
// Models: the parameter coordinator with its trace and prefetches (see zero3_coordinator.hpp);
// coalesced all-gathers, whose flat buffer lives until the last of its parameters is assembled;
// events that bound fetches and reductions in flight, on which the CPU blocks; the gradient bucket
// and its reduce-scatter on a stream of its own; the persistent gradient partition; the optimizer
// by sub-groups, and the gather of persistent parameters after it.
// Assumes an event that is looked at to be as good as waited for if it has completed, which makes
// the order of calls independent of time.
// Leaves out offload to CPU and NVMe, hpZ, quantised weights and gradients, and leaf modules.
// Source: deepspeed/runtime/zero/{stage3,partition_parameters,partitioned_param_coordinator}.py.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "models/training/sharding_strategy.hpp"
#include "models/training/zero3_coordinator.hpp"
#include "models/training/zero_optimizer.hpp"

namespace shardsim::training {

class Zero3 final : public ShardingStrategy, private ParameterActions {
 public:
  /// Creates the communicator "shard", the stream "nccl" of asynchronous gathers and, unless
  /// overlap_comm is off, "allgather" and "reduce"; allocates partitions, gradient buffers and the
  /// optimizer's state; hooks into the workload's modules and gradients.
  Zero3(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder);
  ~Zero3() override;
  Zero3(const Zero3&) = delete;
  Zero3& operator=(const Zero3&) = delete;

  void begin_micro_batch(const MicroBatch&) override {}
  void pre_forward(int) override {}
  void post_forward(int) override {}
  void pre_backward(int) override {}
  void post_backward(int) override {}
  void finish_backward() override;
  void optimizer_step() override;

 private:
  struct Parameter {
    ParameterRef ref;
    std::int64_t elements = 0;
    std::int64_t partition = 0;  ///< elements of each rank, padded
    bool persistent = false;
    Buffer full{};
    std::size_t gather = 0;  ///< index into gathers_, if in flight
  };
  /// An all-gather with parameters that are still to be assembled.
  struct Gather {
    cuda::EventId done = 0;
    Buffer flat;  ///< of a coalesced one
    std::vector<ParameterId> parameters;
    std::size_t pending = 0;
    bool waited = false;
  };

  void create_parameters();
  std::vector<std::int64_t> sub_groups() const;
  void at_module(const ModulePass& pass);
  std::int64_t padded(const Parameter& parameter) const { return parameter.partition * ranks_; }
  simcore::Bytes bytes_of(std::int64_t elements) const { return size_of(elements, type_); }

  void all_gather(std::span<const ParameterId> set, bool prefetch) override;
  void assemble(ParameterId id) override;
  void wait(std::span<const ParameterId> module) override;
  void release(std::span<const ParameterId> set) override;
  Buffer gather_input(std::span<const ParameterId> set, cuda::StreamId stream);
  void copy_out(std::span<const ParameterId> set, cuda::StreamId stream);
  void launch_gather(std::span<const ParameterId> set, cuda::StreamId stream,
                     std::string_view operation);
  void gather_persistent();
  void bound_in_flight(std::deque<cuda::EventId>& events, std::string_view what);

  void gradient_ready(const Gradient& gradient);
  void reduce_bucket();
  void copy(std::string_view operation, CopyRole role, simcore::Bytes bytes);

  ZeroSpec spec_;
  UnitRecorder& recorder_;
  gpu::DataType type_;
  std::int64_t ranks_;
  cuda::CommunicatorId communicator_ = 0;
  cuda::StreamId nccl_stream_ = 0;
  cuda::StreamId gather_stream_ = UnitRecorder::compute;
  cuda::StreamId reduce_stream_ = UnitRecorder::compute;

  std::vector<Parameter> parameters_;
  std::vector<std::size_t> first_of_unit_;  ///< by unit + 1
  std::vector<Gather> gathers_;             ///< of this micro-batch
  std::deque<cuda::EventId> fetch_events_;
  std::deque<cuda::EventId> reduce_events_;
  std::optional<Zero3Coordinator> coordinator_;

  struct {
    std::int64_t elements = 0;
    std::vector<ParameterId> parameters;
    std::vector<Buffer> loose;  ///< gradients that are not in the buffer
  } bucket_;
  std::size_t reduced_buckets_ = 0;  ///< of this micro-batch
  bool has_gradients_ = false;       ///< the partition holds those of earlier micro-batches
  std::optional<ZeroOptimizer> optimizer_;
};

}  // namespace shardsim::training

// DeepSpeed's ZeRO stages 1 and 2 as a program: whole 16-bit parameters in one flat buffer, of
// which each rank owns a slice with its optimizer state.
//
// Models: buckets of gradients, copied into a buffer as they are made (stage 2, or with
// overlap_comm) or after backward (stage 1); the bucket all-reduce of which the owner keeps its
// part, or one reduce for every owner; the side stream of overlap_comm, with two buffers and one
// reduction outstanding; the gradient partition, added up over micro-batches; the blocking
// all-gather of the whole buffer after the optimizer step.
// Assumes one parameter group, and that each rank owns an equal share of every bucket (ranks share
// one program).
// Leaves out round_robin_gradients, CPU offload and sparse gradients.
// Source: deepspeed/runtime/zero/stage_1_and_2.py.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "models/training/sharding_strategy.hpp"
#include "models/training/zero_optimizer.hpp"

namespace shardsim::training {

class Zero12 final : public ShardingStrategy {
 public:
  /// Creates the communicator "shard" and, with overlap_comm, the stream "reduction"; allocates the
  /// flat parameters and the optimizer's state, and hooks into the workload's gradients.
  Zero12(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder);
  ~Zero12() override;
  Zero12(const Zero12&) = delete;
  Zero12& operator=(const Zero12&) = delete;

  void begin_micro_batch(const MicroBatch& micro_batch) override { micro_batch_ = micro_batch; }
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
    std::int64_t offset = 0;  ///< in the flat buffer
    Buffer gradient{};        ///< .grad
    bool has_gradient = false;
  };
  /// Gradients that wait to be reduced together.
  struct Bucket {
    std::int64_t elements = 0;
    std::vector<std::size_t> parameters;
    std::vector<Buffer> loose;  ///< gradients that are not in the buffer
  };

  void create_parameters();
  bool reduces_now() const { return stage2_ || micro_batch_.last; }
  bool reduces_in_backward() const { return stage2_ || overlaps_; }
  void gradient_ready(const Gradient& gradient);
  void keep_gradient(Parameter& parameter, Buffer fresh);
  void add_to_bucket(std::size_t id);
  void allocate_buffers();
  void reduce_bucket();
  void all_reduce_whole();
  void all_reduce_for_owners();
  void reduce_to_owners();
  std::int64_t owners_of_bucket() const;
  void keep_own_part();
  void accumulate_partition();
  void copy(std::string_view operation, CopyRole role, simcore::Bytes bytes);
  void collective(cuda::CollectiveKind kind, std::string_view operation, std::int64_t elements);
  simcore::Bytes bytes_of(std::int64_t elements) const { return size_of(elements, type_); }

  ZeroSpec spec_;
  UnitRecorder& recorder_;
  gpu::DataType type_;
  bool stage2_;
  bool overlaps_;
  std::int64_t ranks_;
  cuda::CommunicatorId communicator_ = 0;
  cuda::StreamId reduction_stream_ = UnitRecorder::compute;

  MicroBatch micro_batch_;
  std::vector<Parameter> parameters_;
  std::map<std::pair<int, std::size_t>, std::size_t> parameter_ids_;
  std::int64_t flat_elements_ = 0;  ///< padded to a multiple of 2 x ranks
  Bucket bucket_;
  std::size_t reduced_buckets_ = 0;  ///< of this micro-batch
  std::vector<Buffer> buffers_;      ///< bucket buffers: two with overlap_comm
  Buffer partition_;                 ///< this micro-batch's part of the gradients
  Buffer averaged_;                  ///< the sum over micro-batches
  bool has_averaged_ = false;
  std::optional<ZeroOptimizer> optimizer_;
};

}  // namespace shardsim::training

// PyTorch's DistributedDataParallel as a program: replicas whose gradients are all-reduced in
// buckets while backward runs.
//
// Models: one bucket in the first iteration, then buckets rebuilt from the order in which gradients
// became ready; one copy kernel a gradient into its bucket; launches in bucket order; waits and
// copies back at the end of backward; autocast's low-precision weight copies where the compute type
// differs from the parameters'.
// With find_unused_parameters: buckets in the order of registration, and the map of used
// parameters. Assumes every parameter gets a gradient, no buffers to broadcast, and that autocast
// copies every parameter of two or more dimensions. A workload of prescribed times has one bucket
// for the head, each block and the embedding. Source: torch/csrc/distributed/c10d/reducer.cpp,
// torch/nn/parallel/distributed.py.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/training/optimizer_step.hpp"
#include "models/training/sharding_strategy.hpp"
#include "models/training/training_spec.hpp"
#include "models/training/unit_recorder.hpp"

namespace shardsim::training {

class Ddp final : public ShardingStrategy {
 public:
  /// Creates the stream "nccl" and the communicator "world", allocates parameters and the first
  /// bucket, and hooks into the workload's gradients.
  Ddp(const TrainingSpec& spec, const GroupSizes& groups, UnitRecorder& recorder);
  ~Ddp() override;
  Ddp(const Ddp&) = delete;
  Ddp& operator=(const Ddp&) = delete;

  void begin_micro_batch(const MicroBatch& micro_batch) override { micro_batch_ = micro_batch; }
  void pre_forward(int unit) override;
  void post_forward(int) override {}
  void pre_backward(int unit) override;
  void post_backward(int unit) override;
  void finish_backward() override;
  void optimizer_step() override;

 private:
  struct Parameter {
    int unit = root_unit;
    std::int64_t elements = 0;
    bool cast_by_autocast = false;
    std::size_t bucket = 0;
    Buffer low_precision{};
    Buffer gradient{};  ///< .grad, unless a view of the bucket
    bool has_gradient = false;
  };
  struct Bucket {
    std::string name;
    BucketPlace place = BucketPlace::all;
    std::vector<std::size_t> parameters{};
    simcore::Bytes bytes{};
    std::size_t pending = 0;
    Buffer buffer{};
    std::optional<cuda::EventId> reduced{};
  };

  void create_parameters();
  void set_buckets(std::vector<Bucket> buckets);
  void rebuild_buckets();
  void set_registered_buckets();
  void name_and_set_buckets(std::vector<Bucket> buckets);
  std::vector<Bucket> prescribed_buckets() const;
  std::vector<Bucket> buckets_of(const std::vector<std::size_t>& order) const;
  bool finds_unused() const { return spec_.find_unused_parameters && !spec_.static_graph; }
  void all_reduce_used_map();
  void gradient_ready(const Gradient& gradient);
  void prescribed_gradient_ready(BucketPlace place);
  void accumulate(Parameter& parameter, Buffer fresh);
  void mark_ready(std::size_t id);
  void launch_ready_buckets();
  void all_reduce(Bucket& bucket);
  void copy_back(const Bucket& bucket);

  TrainingSpec spec_;
  UnitRecorder& recorder_;
  gpu::DataType compute_type_;
  gpu::DataType master_type_;
  bool prescribed_;  ///< times without parameters
  cuda::StreamId nccl_stream_ = 0;
  cuda::CommunicatorId world_ = 0;

  MicroBatch micro_batch_;
  std::vector<Parameter> parameters_;
  std::map<std::pair<int, std::size_t>, std::size_t> parameter_ids_;
  std::vector<Bucket> buckets_;
  std::size_t next_bucket_ = 0;  ///< first that is not launched
  std::vector<std::size_t> ready_order_;
  int synchronized_backwards_ = 0;
  bool rebuilt_ = false;
  std::optional<cuda::EventId> used_map_reduced_;
  std::optional<OptimizerStep> optimizer_;
};

}  // namespace shardsim::training

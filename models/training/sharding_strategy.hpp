// What a sharding strategy does around each unit of a training step.
//
// The functions are the hooks that PyTorch runs, in its order: modules call pre_forward and
// post_forward, autograd pre_backward and post_backward, the engine finish_backward once. They
// record into the program; whatever depends only on the sequence of calls is decided here.
#pragma once

#include "models/training/workload.hpp"

namespace shardsim::training {

/// Where a backward pass stands among the micro-batches of its step.
struct MicroBatch {
  bool reduce_gradients = true;  ///< gradient sync is on
  bool all_reduce = true;        ///< FSDP2, hybrid: all-reduce across replicas, too
  bool last = true;              ///< the optimizer step follows
};

class ShardingStrategy {
 public:
  virtual ~ShardingStrategy() = default;

  virtual void begin_micro_batch(const MicroBatch& micro_batch) = 0;
  virtual void pre_forward(int unit) = 0;
  virtual void post_forward(int unit) = 0;
  virtual void pre_backward(int unit) = 0;
  virtual void post_backward(int unit) = 0;
  // Where embedding and head begin and end within the root, for strategies that make units of them.
  virtual void after_embedding_forward() {}
  virtual void before_head_forward() {}
  virtual void after_head_backward() {}
  virtual void before_embedding_backward() {}
  /// The engine's callback after the whole backward.
  virtual void finish_backward() = 0;
  /// optimizer.step(), then zero_grad(set_to_none=True).
  virtual void optimizer_step() = 0;
};

}  // namespace shardsim::training

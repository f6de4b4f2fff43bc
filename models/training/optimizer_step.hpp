// The optimizer over the parameters that one rank holds: its state, temporaries and kernels.
//
// Models AdamW and plain SGD of torch.optim: AdamW's two moments, in the parameters' type, are
// allocated in the first step; the foreach implementation holds one temporary of the size of all
// parameters (square root of the second moment), the fused one none. With CPU offload the moments
// lie in host memory, pageable like all that the CPU alone touches, and the temporaries are those
// of one tensor, which is left out. Leaves out the step counters (a few bytes a tensor) and SGD's
// momentum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/training/training_spec.hpp"
#include "models/training/unit_recorder.hpp"

namespace shardsim::training {

/// A parameter tensor as the optimizer sees it: the local shard.
struct OptimizedTensor {
  std::string name;
  std::int64_t elements = 0;
};

class OptimizerStep {
 public:
  OptimizerStep(const TrainingSpec& spec, std::vector<OptimizedTensor> tensors);

  /// Elements held by this rank.
  std::int64_t elements() const { return elements_; }

  /// Norm of the gradients, its sum over `communicator` if `reduce_norm`, and their scaling; on the
  /// compute stream.
  void clip_gradients(UnitRecorder& recorder, cuda::CommunicatorId communicator,
                      bool reduce_norm) const;
  /// Allocates the state in the first call, then launches the step; with offload the CPU does it.
  void step(UnitRecorder& recorder);

 private:
  void allocate_state(UnitRecorder& recorder);

  OptimizerKind kind_;
  OptimizerImplementation implementation_;
  bool on_host_;
  gpu::DataType type_;
  std::vector<OptimizedTensor> tensors_;
  std::int64_t elements_ = 0;
  bool has_state_ = false;
};

}  // namespace shardsim::training

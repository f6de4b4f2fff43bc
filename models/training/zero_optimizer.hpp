// DeepSpeed's mixed-precision optimizer over the partition that one rank owns.
//
// Models: fp32 master parameters and AdamW's two moments, allocated with the engine, in one tensor
// for each sub-group; in a step, sub-group by sub-group, the widened gradient, the fused update and
// the copy back into the 16-bit partition. Clipping reads the norm, so that the CPU waits for it.
// Leaves out the overflow check of fp16 and the step counters.
// Source: deepspeed/runtime/zero/{stage_1_and_2,stage3}.py.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/training/training_spec.hpp"
#include "models/training/unit_recorder.hpp"

namespace shardsim::training {

class ZeroOptimizer {
 public:
  /// `sub_groups` holds the elements of the rank's sub-groups.
  ZeroOptimizer(const TrainingSpec& spec, std::vector<std::int64_t> sub_groups,
                UnitRecorder& recorder);

  /// `gradient_widened` is called when a sub-group's 16-bit gradient is no longer needed.
  void step(cuda::CommunicatorId communicator,
            const std::function<void(std::size_t sub_group)>& gradient_widened = {});

  std::int64_t elements() const { return elements_; }

 private:
  void read_norm(cuda::CommunicatorId communicator);
  void copy(const char* name, simcore::Bytes bytes, CopyRole role = CopyRole::cast);

  bool clips_;
  std::vector<std::int64_t> sub_groups_;
  std::int64_t elements_ = 0;
  UnitRecorder& recorder_;
  gpu::DataType compute_type_;
  gpu::DataType master_type_;
};

}  // namespace shardsim::training

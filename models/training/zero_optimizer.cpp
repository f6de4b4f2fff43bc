#include "models/training/zero_optimizer.hpp"

#include <utility>

namespace shardsim::training {

using cuda::MemoryKind;
using simcore::Bytes;

ZeroOptimizer::ZeroOptimizer(const TrainingSpec& spec, std::vector<std::int64_t> sub_groups,
                             UnitRecorder& recorder)
    : clips_(spec.gradient_clipping),
      sub_groups_(std::move(sub_groups)),
      recorder_(recorder),
      compute_type_(recorder.workload().compute_type()),
      master_type_(data_type(spec.master_dtype)) {
  for (const std::int64_t elements : sub_groups_) {
    elements_ += elements;
    const Bytes bytes = size_of(elements, master_type_);
    const auto allocate = [&](const char* name) {
      recorder_.allocate(bytes, UnitRecorder::compute, MemoryKind::optimizer, name);
    };
    allocate("master parameters");
    if (spec.optimizer != OptimizerKind::adamw) continue;
    allocate("exp_avg");
    allocate("exp_avg_sq");
  }
}

void ZeroOptimizer::copy(const char* name, Bytes bytes, CopyRole role) {
  recorder_.program().launch(UnitRecorder::compute, name,
                             recorder_.workload().copy(role, root_unit, bytes, 1));
}

/// The norm of all gradients, which the CPU reads to decide on the coefficient.
void ZeroOptimizer::read_norm(cuda::CommunicatorId communicator) {
  cuda::ProgramRecorder& program = recorder_.program();
  copy("norm", size_of(elements_, compute_type_), CopyRole::norm);
  const cuda::CollectiveSpec sum{.kind = cuda::CollectiveKind::all_reduce,
                                 .communicator = communicator,
                                 .bytes = size_of(1, gpu::DataType::fp32),
                                 .type = gpu::DataType::fp32,
                                 .fixed_time = {},
                                 .cpu_cost = {}};
  program.launch(UnitRecorder::compute, "norm.all_reduce",
                 recorder_.workload().collective(CollectiveRole::gradient_norm, root_unit, sum));
  program.synchronize_event(program.record_event(UnitRecorder::compute), "gradient norm");
}

void ZeroOptimizer::step(cuda::CommunicatorId communicator,
                         const std::function<void(std::size_t)>& gradient_widened) {
  if (clips_) read_norm(communicator);
  for (std::size_t i = 0; i < sub_groups_.size(); ++i) {
    const Bytes wide = size_of(sub_groups_[i], master_type_);
    const Bytes narrow = size_of(sub_groups_[i], compute_type_);
    Buffer gradient =
        recorder_.allocate(wide, UnitRecorder::compute, MemoryKind::other, "fp32 gradient");
    copy("widen_gradient", narrow + wide);
    if (gradient_widened) gradient_widened(i);
    if (clips_) copy("clip", wide * 2, CopyRole::scale);
    recorder_.workload().optimizer(recorder_.program(), sub_groups_[i], 1);
    recorder_.release(gradient);
    copy("narrow_parameters", narrow + wide);
  }
}

}  // namespace shardsim::training

#include "models/training/optimizer_step.hpp"

namespace shardsim::training {

using cuda::MemoryKind;

OptimizerStep::OptimizerStep(const TrainingSpec& spec, std::vector<OptimizedTensor> tensors)
    : kind_(spec.optimizer),
      implementation_(spec.implementation()),
      on_host_(spec.offloads()),
      type_(data_type(spec.master_dtype)),
      tensors_(std::move(tensors)) {
  for (const OptimizedTensor& tensor : tensors_) elements_ += tensor.elements;
}

void OptimizerStep::clip_gradients(UnitRecorder& recorder, cuda::CommunicatorId communicator,
                                   bool reduce_norm) const {
  const auto count = static_cast<std::int64_t>(tensors_.size());
  const simcore::Bytes gradients = size_of(elements_, type_);
  const Workload& workload = recorder.workload();
  cuda::ProgramRecorder& program = recorder.program();
  program.launch(UnitRecorder::compute, "norm",
                 workload.copy(CopyRole::norm, root_unit, gradients, count));
  if (reduce_norm) {
    const cuda::CollectiveSpec all_reduce{.kind = cuda::CollectiveKind::all_reduce,
                                          .communicator = communicator,
                                          .bytes = size_of(1, gpu::DataType::fp32),
                                          .type = gpu::DataType::fp32,
                                          .fixed_time = {},
                                          .cpu_cost = {}};
    program.launch(UnitRecorder::compute, "norm.all_reduce",
                   workload.collective(CollectiveRole::gradient_norm, root_unit, all_reduce));
  }
  program.launch(UnitRecorder::compute, "clip",
                 workload.copy(CopyRole::scale, root_unit, gradients * 2, count));
}

void OptimizerStep::allocate_state(UnitRecorder& recorder) {
  has_state_ = true;
  if (kind_ != OptimizerKind::adamw) return;
  for (const OptimizedTensor& tensor : tensors_) {
    for (const char* moment : {".exp_avg", ".exp_avg_sq"}) {
      const simcore::Bytes bytes = size_of(tensor.elements, type_);
      if (on_host_) {
        recorder.program().hold_on_host(bytes, MemoryKind::optimizer, cuda::HostPages::pageable);
      } else {
        recorder.allocate(bytes, UnitRecorder::compute, MemoryKind::optimizer,
                          tensor.name + moment);
      }
    }
  }
}

void OptimizerStep::step(UnitRecorder& recorder) {
  if (!has_state_) allocate_state(recorder);
  if (on_host_) {
    const auto count = static_cast<std::int64_t>(tensors_.size());
    recorder.program().cpu_work(recorder.workload().host_optimizer(elements_, count),
                                cuda::CpuWorkKind::optimizer);
    return;
  }
  std::vector<Buffer> temporaries;
  if (kind_ == OptimizerKind::adamw && implementation_ == OptimizerImplementation::foreach) {
    for (const OptimizedTensor& tensor : tensors_) {
      temporaries.push_back(recorder.allocate(size_of(tensor.elements, type_),
                                              UnitRecorder::compute, MemoryKind::optimizer,
                                              tensor.name + ".exp_avg_sq_sqrt"));
    }
  }
  recorder.workload().optimizer(recorder.program(), elements_,
                                static_cast<std::int64_t>(tensors_.size()));
  for (Buffer& temporary : temporaries) recorder.release(temporary);
}

}  // namespace shardsim::training

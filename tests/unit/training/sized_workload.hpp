// A workload with parameters and gradients but without activations: what memory and traffic a
// strategy adds is then all there is.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "models/training/operation_names.hpp"
#include "models/training/workload.hpp"

namespace shardsim::training {

class SizedWorkload final : public Workload {
 public:
  /// The root has one parameter of `root` rows, each block two of `block` rows; rows hold 1024
  /// elements.
  SizedWorkload(int blocks, std::int64_t root, std::int64_t block,
                gpu::DataType type = gpu::DataType::bf16)
      : blocks_(blocks),
        type_(type),
        root_{{"embedding", {root, 1024}}},
        block_{{"weight", {block, 1024}}, {"bias", {block, 1024}}} {}

  int blocks() const override { return blocks_; }
  gpu::DataType compute_type() const override { return type_; }
  const std::vector<ParameterShape>& parameters(int unit) const override {
    return unit == root_unit ? root_ : block_;
  }

  void embedding_forward(cuda::ProgramRecorder& r) override {
    at_module(ModulePoint::pre_forward, root_unit, table);
    kernel(r, "embF");
    at_module(ModulePoint::post_forward, root_unit, table);
  }
  void block_forward(cuda::ProgramRecorder& r, int b) override {
    at_module(ModulePoint::pre_forward, b, linear);
    kernel(r, "F" + std::to_string(b));
    at_module(ModulePoint::post_forward, b, linear);
  }
  void head_forward(cuda::ProgramRecorder& r) override { kernel(r, "headF"); }
  void head_backward(cuda::ProgramRecorder& r) override { kernel(r, "headB"); }
  void block_backward(cuda::ProgramRecorder& r, int b) override {
    at_module(ModulePoint::pre_backward, b, linear);
    kernel(r, "B" + std::to_string(b));
    at_module(ModulePoint::post_backward, b, linear);
    for (std::size_t i = block_.size(); i-- > 0;) gradient(r, b, i);
  }
  void embedding_backward(cuda::ProgramRecorder& r) override {
    at_module(ModulePoint::pre_backward, root_unit, table);
    kernel(r, "embB");
    at_module(ModulePoint::post_backward, root_unit, table);
    gradient(r, root_unit, 0);
  }
  void optimizer(cuda::ProgramRecorder& r, std::int64_t elements, std::int64_t) override {
    optimized_elements = elements;
    kernel(r, "OPT");
  }

  cuda::KernelSpec copy(CopyRole, int, simcore::Bytes bytes, std::int64_t) const override {
    cuda::KernelSpec spec;
    spec.category = cuda::KernelCategory::copy;
    gpu::MemoryBoundWork work;
    work.bytes = bytes;
    spec.work = work;
    return spec;
  }
  std::string unit_operation(std::string_view operation, int unit) const override {
    return short_operation(operation, unit);
  }
  cuda::KernelSpec host_copy(simcore::Bytes bytes, std::int64_t tensors) const override {
    return copy(CopyRole::copy_in, root_unit, bytes, tensors);
  }
  simcore::SimTime host_optimizer(std::int64_t, std::int64_t) const override {
    return simcore::SimTime::microseconds(1000);
  }
  cuda::CollectiveSpec collective(CollectiveRole, int, cuda::CollectiveSpec spec) const override {
    spec.fixed_time = collective_time;
    return spec;
  }
  cuda::CollectiveSpec bucket(BucketPlace, cuda::CollectiveSpec spec) const override {
    return spec;
  }
  simcore::SimTime hook_cost() const override { return {}; }

  std::int64_t optimized_elements = 0;
  std::optional<simcore::SimTime> collective_time;

 private:
  static constexpr std::array<std::size_t, 1> table{0};
  static constexpr std::array<std::size_t, 2> linear{0, 1};

  static void kernel(cuda::ProgramRecorder& recorder, std::string_view name) {
    cuda::KernelSpec spec;
    spec.work = gpu::FixedWork{simcore::SimTime::microseconds(10)};
    recorder.launch(cuda::ProgramRecorder::compute_stream, name, spec);
  }
  void gradient(cuda::ProgramRecorder& recorder, int unit, std::size_t parameter) {
    const std::int64_t elements = parameters(unit)[parameter].elements();
    const cuda::TensorId tensor = recorder.allocate(
        simcore::Bytes{elements * gpu::bytes_per_element(type_)},
        cuda::ProgramRecorder::compute_stream, cuda::MemoryKind::gradients, "grad");
    gradient_ready(recorder, {unit, parameter, tensor});
  }

  int blocks_;
  gpu::DataType type_;
  std::vector<ParameterShape> root_;
  std::vector<ParameterShape> block_;
};

}  // namespace shardsim::training

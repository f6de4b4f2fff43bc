// A workload of prescribed times: every operation takes what the specification says.
//
// Its parameters have no sizes, so that nothing is allocated and no byte is counted - unless ZeRO,
// which counts elements, needs them: then embedding, head and each block are a module of one fp32
// parameter, and a collective over several of them takes each unit's time in proportion to the
// elements. Its CPU costs nothing but `launch_cost` per operation.
#pragma once

#include <string>
#include <vector>

#include "models/training/explicit_workload_spec.hpp"
#include "models/training/operation_names.hpp"
#include "models/training/training_spec.hpp"
#include "models/training/workload.hpp"

namespace shardsim::training {

/// Keys of `workload.explicit` that the strategy needs and the specification lacks.
std::vector<std::string> missing_times(const ExplicitSpec& spec, const TrainingSpec& training,
                                       const GroupSizes& groups);

/// The same for sizes.
std::vector<std::string> missing_sizes(const ExplicitSpec& spec, const TrainingSpec& training);

class ExplicitWorkload final : public Workload {
 public:
  /// `launch_cost`: CPU time to issue any one kernel or collective. `sized`: parameters have the
  /// specification's sizes.
  explicit ExplicitWorkload(const ExplicitSpec& spec, simcore::SimTime launch_cost = {},
                            bool sized = false);

  int blocks() const override { return static_cast<int>(spec_.blocks); }
  gpu::DataType compute_type() const override { return gpu::DataType::fp32; }
  const std::vector<ParameterShape>& parameters(int unit) const override;

  void embedding_forward(cuda::ProgramRecorder& recorder) override;
  void block_forward(cuda::ProgramRecorder& recorder, int block) override;
  void head_forward(cuda::ProgramRecorder& recorder) override;
  void head_backward(cuda::ProgramRecorder& recorder) override;
  void block_backward(cuda::ProgramRecorder& recorder, int block) override;
  void embedding_backward(cuda::ProgramRecorder& recorder) override;
  void optimizer(cuda::ProgramRecorder& recorder, std::int64_t parameters,
                 std::int64_t tensors) override;

  cuda::KernelSpec copy(CopyRole role, int unit, simcore::Bytes bytes,
                        std::int64_t tensors) const override;
  cuda::KernelSpec host_copy(simcore::Bytes bytes, std::int64_t tensors) const override;
  simcore::SimTime host_optimizer(std::int64_t parameters, std::int64_t tensors) const override;
  cuda::CollectiveSpec collective(CollectiveRole role, int unit,
                                  cuda::CollectiveSpec spec) const override;
  cuda::CollectiveSpec collective_of(CollectiveRole role, std::span<const ParameterRef> parameters,
                                     cuda::CollectiveSpec spec) const override;
  cuda::CollectiveSpec bucket(BucketPlace place, cuda::CollectiveSpec spec) const override;
  std::string unit_operation(std::string_view operation, int unit) const override {
    return short_operation(operation, unit);
  }
  simcore::SimTime hook_cost() const override { return {}; }

 private:
  cuda::KernelSpec kernel(cuda::KernelCategory category, simcore::SimTime time) const;
  void compute(cuda::ProgramRecorder& recorder, std::string_view name, simcore::SimTime time) const;
  void module_forward(cuda::ProgramRecorder& recorder, const ParameterRef& parameter,
                      std::string_view name, simcore::SimTime time) const;
  void module_backward(cuda::ProgramRecorder& recorder, const ParameterRef& parameter,
                       std::string_view name, simcore::SimTime time);
  simcore::SimTime unit_time(CollectiveRole role, int unit) const;
  cuda::CollectiveSpec timed(cuda::CollectiveSpec spec, simcore::SimTime time) const;

  ExplicitSpec spec_;
  simcore::SimTime launch_cost_;
  bool sized_;
  std::vector<ParameterShape> root_parameters_;
  std::vector<ParameterShape> block_parameters_;
};

}  // namespace shardsim::training

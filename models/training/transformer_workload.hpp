// A transformer's training step as kernels and allocations.
//
// Models: every operator of embedding, blocks, head, loss and optimizer; activations from the
// operator that makes them to the last backward that needs them; activation checkpointing;
// gradients of parameters in the compute type, handed over as autograd completes them; cuBLAS
// workspaces, one for the forward and one for the autograd thread.
// Assumes: equal blocks, a full micro-batch, one GPU holding whole layers (no tensor, pipeline or
// sequence parallelism).
// Leaves out: token ids and labels (16 bytes a token), embedding dropout, gradient-free layers.
#pragma once

#include <optional>
#include <vector>

#include "models/training/cpu_spec.hpp"
#include "models/training/operation_names.hpp"
#include "models/training/operator_tape.hpp"
#include "models/training/optimizer_kernel.hpp"
#include "models/training/transformer_block.hpp"
#include "models/training/transformer_shape.hpp"
#include "models/training/workload.hpp"
#include "models/training/workload_spec.hpp"

namespace shardsim::training {

/// What the workload has to know of the rest of the run.
struct TransformerSetting {
  CpuSpec cpu;
  OptimizerSetting optimizer;
  /// cuBLAS's workspace on this GPU; see cublas_workspace_bytes.
  simcore::Bytes cublas_workspace;
  simcore::BitRate host_link{24e9};  ///< GPU to host memory; PCIe 4.0 x16 at 75 %
  std::int64_t ranks_per_node = 1;   ///< which share the host's memory
};

/// What PyTorch reserves for a cuBLAS handle on a GPU of this compute capability (the major
/// number): 32 MiB from 9 on, 8 MiB + 128 KiB before (two parts of 4 MiB, eight of 16 KiB).
simcore::Bytes cublas_workspace_bytes(int compute_capability_major);

/// The default of WorkloadSpec::loss_bytes_per_logit.
double loss_bytes_per_logit(const WorkloadSpec& spec);

class TransformerWorkload final : public Workload {
 public:
  /// `spec.sequence_length` is set. At least one of the blocks exists (shape.layers >= 1).
  TransformerWorkload(const TransformerShape& shape, const WorkloadSpec& spec,
                      const TransformerSetting& setting);
  // Its tapes refer to its graphs.
  TransformerWorkload(const TransformerWorkload&) = delete;
  TransformerWorkload& operator=(const TransformerWorkload&) = delete;

  int blocks() const override { return static_cast<int>(shape_.layers); }
  gpu::DataType compute_type() const override { return context_.type; }
  const std::vector<ParameterShape>& parameters(int unit) const override {
    return unit == root_unit ? root_parameters_ : block_parameters_;
  }

  std::size_t parameters_before_blocks() const override { return shape_.position_rows > 0 ? 2 : 1; }

  void embedding_forward(cuda::ProgramRecorder& recorder) override;
  void block_forward(cuda::ProgramRecorder& recorder, int block) override;
  void head_forward(cuda::ProgramRecorder& recorder) override;
  void loss_forward(cuda::ProgramRecorder& recorder) override;
  void loss_backward(cuda::ProgramRecorder& recorder) override;
  void head_backward(cuda::ProgramRecorder& recorder) override;
  void block_backward(cuda::ProgramRecorder& recorder, int block) override;
  void embedding_backward(cuda::ProgramRecorder& recorder) override;
  void loss_metrics(cuda::ProgramRecorder& recorder) override;
  void optimizer(cuda::ProgramRecorder& recorder, std::int64_t parameters,
                 std::int64_t tensors) override;

  cuda::KernelSpec copy(CopyRole role, int unit, simcore::Bytes bytes,
                        std::int64_t tensors) const override;
  cuda::KernelSpec host_copy(simcore::Bytes bytes, std::int64_t tensors) const override;
  simcore::SimTime host_optimizer(std::int64_t parameters, std::int64_t tensors) const override;
  cuda::CollectiveSpec collective(CollectiveRole role, int unit,
                                  cuda::CollectiveSpec spec) const override;
  cuda::CollectiveSpec bucket(BucketPlace place, cuda::CollectiveSpec spec) const override;
  std::string unit_operation(std::string_view operation, int unit) const override;
  simcore::SimTime hook_cost() const override { return setting_.cpu.hook; }
  simcore::SimTime module_hook_cost() const override { return setting_.cpu.module_hook; }

  const TransformerShape& shape() const { return shape_; }
  std::int64_t tokens() const { return context_.tokens(); }

 private:
  void reserve_workspace(cuda::ProgramRecorder& recorder, Pass pass);
  cuda::TensorId allocate_root_gradient(cuda::ProgramRecorder& recorder, std::size_t parameter);
  void head_gradient(cuda::ProgramRecorder& recorder, std::size_t parameter,
                     cuda::TensorId gradient);
  void launch(cuda::ProgramRecorder& recorder, const Launch& entry) const;
  ModuleSink modules_of(int unit) const;

  TransformerShape shape_;
  TransformerSetting setting_;
  KernelContext context_;
  std::vector<ParameterShape> root_parameters_;
  std::vector<ParameterShape> block_parameters_;
  std::vector<simcore::Bytes> root_gradient_bytes_;
  std::vector<simcore::Bytes> block_gradient_bytes_;
  std::int64_t loss_metrics_;
  OperatorGraph block_graph_;
  OperatorGraph head_graph_;
  OperatorGraph loss_graph_;
  std::vector<OperatorTape> block_tapes_;
  std::optional<OperatorTape> head_tape_;
  std::optional<OperatorTape> loss_tape_;

  /// What flows between the parts: the residual stream (or the logits) in forward, its gradient in
  /// backward.
  std::optional<cuda::TensorId> stream_;
  /// The head's part of a tied table's gradient, until the embedding adds its own.
  std::optional<cuda::TensorId> tied_gradient_;
  bool forward_workspace_reserved_ = false;
  bool backward_workspace_reserved_ = false;
};

}  // namespace shardsim::training

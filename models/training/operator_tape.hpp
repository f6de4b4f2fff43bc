// Records the forward and backward pass of an operator graph, with the memory that PyTorch's
// autograd would hold.
//
// Models: a value lives until its last reader has been issued, or, if saved, until the backward of
// the last operator that saved it; a gradient lives until its operator's backward has been issued.
// Under activation checkpointing forward keeps the graph's input (and what the selective policy
// keeps); backward first runs forward again, flagged as recomputation, then proceeds as usual.
// Early stop: recomputation ends once every saved value is there again, as non-reentrant
// checkpointing does since PyTorch 2.1; so a block's last linear layer is not repeated.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/cuda/program_recorder.hpp"
#include "models/training/checkpointing.hpp"
#include "models/training/operator_graph.hpp"
#include "models/training/workload.hpp"

namespace shardsim::training {

/// Receives the gradient of the unit's parameter `index`, as its last kernel has been issued.
using ParameterGradientSink = std::function<void(std::size_t index, cuda::TensorId gradient)>;

/// Told of the hooks around each module, with the parameters that it owns.
using ModuleSink = std::function<void(ModulePoint point, std::span<const std::size_t> parameters)>;

class OperatorTape {
 public:
  /// `graph` outlives the tape; `gradient_bytes` holds the size of each of the unit's parameters'
  /// gradients. `prefix` goes before every kernel's name.
  OperatorTape(const OperatorGraph& graph, const std::vector<simcore::Bytes>& gradient_bytes,
               std::string_view prefix, Checkpointing checkpointing, bool early_stop);

  /// Takes over `input`; the returned output is the caller's.
  cuda::TensorId forward(cuda::ProgramRecorder& recorder, cuda::TensorId input,
                         const ModuleSink& modules = {});
  /// After forward: takes over the output's gradient; the returned input gradient is the caller's.
  /// Nothing of the pass stays allocated but the gradients handed to `sink`.
  cuda::TensorId backward(cuda::ProgramRecorder& recorder, cuda::TensorId output_gradient,
                          const ParameterGradientSink& sink, const ModuleSink& modules = {});

 private:
  bool is_saved(ValueId value) const { return savers_[value] > 0; }
  bool survives_forward(ValueId value) const;
  std::size_t recompute_end() const;

  void run_forward(cuda::ProgramRecorder& recorder, std::size_t end, bool recompute,
                   const ModuleSink& modules);
  void issue_forward(cuda::ProgramRecorder& recorder, const Operator& op, bool recompute);
  void run_backward(cuda::ProgramRecorder& recorder, const Operator& op,
                    const ParameterGradientSink& sink, const std::function<void()>& kernels_issued);
  void pass_gradient(cuda::ProgramRecorder& recorder, const Operator& op);
  void accumulate(cuda::ProgramRecorder& recorder, const Operator& op, ValueId value,
                  cuda::TensorId gradient);
  void launch(cuda::ProgramRecorder& recorder, const std::vector<Launch>& launches,
              bool recompute) const;
  void release_value(cuda::ProgramRecorder& recorder, ValueId value);
  void release_saved(cuda::ProgramRecorder& recorder, const Operator& op);
  void drop_gradients(cuda::ProgramRecorder& recorder, ValueId value);
  cuda::KernelSpec addition(ValueId value) const;
  cuda::TensorId allocate(cuda::ProgramRecorder& recorder, ValueId value) const;

  const OperatorGraph& graph_;
  const std::vector<simcore::Bytes>& gradient_bytes_;
  std::string prefix_;
  Checkpointing checkpointing_;
  bool early_stop_;

  std::vector<int> savers_;               ///< operators that save each value
  std::vector<std::size_t> last_reader_;  ///< operators_.size() for the output

  std::vector<std::optional<cuda::TensorId>> live_;
  std::vector<int> pending_savers_;                     ///< savers whose backward is still to come
  std::vector<std::vector<cuda::TensorId>> gradients_;  ///< parts of each value's gradient
  std::map<cuda::TensorId, int> gradient_uses_;         ///< values that share a gradient tensor
};

}  // namespace shardsim::training

// What one rank computes in a training step, in the pieces that a sharding strategy interleaves
// with communication.
//
// A strategy knows units (the root and the blocks) and their parameters; a workload knows the
// kernels inside them and what they save for the backward pass. The two meet here.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/cuda/program_recorder.hpp"

namespace shardsim::training {

/// The unit holding what no block holds: embedding, final norm, head.
inline constexpr int root_unit = -1;
/// Parts of the root, where a strategy makes them units of their own: the embedding (what is
/// registered before the blocks), and final norm and head.
inline constexpr int embedding_unit = -2;
inline constexpr int head_unit = -3;

/// One parameter tensor; dimension 0 is the one that per-parameter sharding splits.
struct ParameterShape {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (const std::int64_t size : shape) product *= size;
    return product;
  }
};

enum class CollectiveRole : std::uint8_t {
  all_gather,
  reduce_scatter,
  all_reduce,
  bucket,
  gradient_norm,  ///< the sum of squares that gradient clipping needs
};
enum class CopyRole : std::uint8_t {
  copy_in,           ///< shards into the all-gather's buffer
  copy_out,          ///< the gathered buffer into parameters
  gradient_copy_in,  ///< gradients into the reduce-scatter's buffer
  cast,              ///< a change of element type
  concatenate,       ///< gradients of single parameters into one flat gradient
  accumulate,        ///< gradients added to ones kept from an earlier micro-batch
  scale,             ///< gradients multiplied by a factor (averaging, clipping)
  norm,              ///< gradients read for their norm
};

/// Which data-parallel bucket a prescribed all-reduce time belongs to.
enum class BucketPlace : std::uint8_t { head, block, embedding, all };

/// A parameter of the model, by its place.
struct ParameterRef {
  int unit = root_unit;
  std::size_t parameter = 0;  ///< index into Workload::parameters(unit)
};

/// The complete gradient of one parameter, from one backward pass.
struct Gradient {
  int unit = root_unit;
  std::size_t parameter = 0;  ///< index into Workload::parameters(unit)
  cuda::TensorId tensor = 0;
};

/// What an autograd accumulation node's hook is: told of each gradient, as its last kernel has been
/// issued.
using GradientHook = std::function<void(cuda::ProgramRecorder&, const Gradient&)>;

/// Where the hooks of a module run: around its kernels, in either direction. Recomputation of
/// activations runs the forward hooks again.
enum class ModulePoint : std::uint8_t { pre_forward, post_forward, pre_backward, post_backward };

/// A module as its hooks see it: the parameters of `unit` that it owns itself, as indices into
/// Workload::parameters(unit). Activations, dropout and modules that only hold others own none.
struct ModulePass {
  ModulePoint point = ModulePoint::pre_forward;
  int unit = root_unit;
  std::span<const std::size_t> parameters;
};
using ModuleHook = std::function<void(const ModulePass&)>;

class Workload {
 public:
  virtual ~Workload() = default;

  virtual int blocks() const = 0;
  /// Element type of compute: of gathered parameters, activations and fresh gradients.
  virtual gpu::DataType compute_type() const { return gpu::DataType::bf16; }
  /// Parameters of `unit` (root_unit or 0..blocks-1), in registration order. Empty for prescribed
  /// workloads.
  virtual const std::vector<ParameterShape>& parameters(int unit) const = 0;
  /// How many of the root's parameters the model registers before its blocks' (the embedding's).
  virtual std::size_t parameters_before_blocks() const { return parameters(root_unit).size(); }

  // Compute, on the compute stream. Each allocates what it saves and frees what it consumed, and
  // backward passes each gradient on (gradient_ready).
  virtual void embedding_forward(cuda::ProgramRecorder& recorder) = 0;
  virtual void block_forward(cuda::ProgramRecorder& recorder, int block) = 0;
  virtual void head_forward(cuda::ProgramRecorder& recorder) = 0;
  /// The loss, which is no part of the model: the root's forward has ended, its backward has not
  /// begun. Prescribed workloads count it with the head.
  virtual void loss_forward(cuda::ProgramRecorder&) {}
  virtual void loss_backward(cuda::ProgramRecorder&) {}
  virtual void head_backward(cuda::ProgramRecorder& recorder) = 0;
  virtual void block_backward(cuda::ProgramRecorder& recorder, int block) = 0;
  virtual void embedding_backward(cuda::ProgramRecorder& recorder) = 0;
  /// What the training loop computes of a micro-batch only to report it, after its backward.
  virtual void loss_metrics(cuda::ProgramRecorder&) {}
  /// The kernels of one optimizer step over `parameters` elements held by this rank in `tensors`
  /// tensors. The optimizer's state and temporaries are the strategy's to allocate.
  virtual void optimizer(cuda::ProgramRecorder& recorder, std::int64_t parameters,
                         std::int64_t tensors) = 0;

  /// A copy that moves `bytes` (read and written together) for `unit` in `tensors` pieces.
  virtual cuda::KernelSpec copy(CopyRole role, int unit, simcore::Bytes bytes,
                                std::int64_t tensors) const = 0;
  /// A copy of `bytes` between host and GPU memory, from or to pinned memory.
  virtual cuda::KernelSpec host_copy(simcore::Bytes bytes, std::int64_t tensors) const = 0;
  /// CPU time of an optimizer step over `parameters` elements that live in host memory.
  virtual simcore::SimTime host_optimizer(std::int64_t parameters, std::int64_t tensors) const = 0;
  /// Completes a collective of `unit`: prescribed workloads set its time, others leave it.
  virtual cuda::CollectiveSpec collective(CollectiveRole role, int unit,
                                          cuda::CollectiveSpec spec) const = 0;
  /// The same for a collective over any set of parameters.
  virtual cuda::CollectiveSpec collective_of(CollectiveRole role,
                                             std::span<const ParameterRef> parameters,
                                             cuda::CollectiveSpec spec) const {
    return collective(role, parameters.empty() ? root_unit : parameters.front().unit, spec);
  }
  /// The same for a data-parallel bucket, by its place in the model and the blocks it spans.
  virtual cuda::CollectiveSpec bucket(BucketPlace place, cuda::CollectiveSpec spec) const = 0;
  /// Name of what a strategy issues for a unit (operation_names.hpp).
  virtual std::string unit_operation(std::string_view operation, int unit) const = 0;
  /// CPU time of a strategy's hooks around one unit (0 for prescribed workloads).
  virtual simcore::SimTime hook_cost() const = 0;
  /// The same around one module, for strategies that hook into every module.
  virtual simcore::SimTime module_hook_cost() const { return {}; }

  /// Calls `hook` for every gradient from now on; without one, gradients await take_gradients.
  void set_gradient_hook(GradientHook hook) { hook_ = std::move(hook); }
  /// Calls `hook` around every module from now on, between its kernels and those of its neighbours.
  void set_module_hook(ModuleHook hook) { module_hook_ = std::move(hook); }
  /// Gradients of `unit` completed since the last call, in order. The caller owns (and frees) them.
  std::vector<Gradient> take_gradients(int unit) {
    std::vector<Gradient> taken;
    if (const auto found = gradients_.find(unit); found != gradients_.end()) {
      taken.swap(found->second);
    }
    return taken;
  }

 protected:
  /// Backward functions hand over each parameter's gradient here: a tensor of compute_type() that
  /// they allocated (compute stream, MemoryKind::gradients) and no longer touch.
  void gradient_ready(cuda::ProgramRecorder& recorder, const Gradient& gradient) {
    if (hook_) {
      hook_(recorder, gradient);
    } else {
      gradients_[gradient.unit].push_back(gradient);
    }
  }

  /// Compute functions come by here before and after each module's kernels.
  void at_module(ModulePoint point, int unit, std::span<const std::size_t> parameters = {}) const {
    if (module_hook_) module_hook_({point, unit, parameters});
  }

 private:
  GradientHook hook_;
  ModuleHook module_hook_;
  std::map<int, std::vector<Gradient>> gradients_;
};

/// All parameters in the order in which `model.parameters()` yields them.
std::vector<ParameterRef> registration_order(const Workload& workload);

}  // namespace shardsim::training

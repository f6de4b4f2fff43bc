#include "models/training/operator_tape.hpp"

#include <algorithm>
#include <cassert>
#include <string>

namespace shardsim::training {

using cuda::MemoryKind;
using cuda::ProgramRecorder;
using cuda::TensorId;
using simcore::Bytes;

namespace {

/// Memory that exists only while some kernels are issued; PyTorch reuses it right after.
class Workspace {
 public:
  Workspace(ProgramRecorder& recorder, Bytes bytes, std::string_view name) : recorder_(recorder) {
    if (bytes.count == 0) return;
    tensor_ = recorder.allocate(bytes, ProgramRecorder::compute_stream, MemoryKind::activations,
                                std::string(name) + ".workspace");
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace() {
    if (tensor_) recorder_.free(*tensor_);
  }

 private:
  ProgramRecorder& recorder_;
  std::optional<TensorId> tensor_;
};

/// Runs the hooks before modules: first those of a container that is being entered.
class ModuleWalk {
 public:
  ModuleWalk(const ModuleSink& sink, ModulePoint before, ModulePoint after)
      : sink_(sink), before_(before), after_(after) {}

  void enter(const Operator& op) {
    if (!sink_ || !op.is_module) return;
    if (!op.container.empty() && op.container != container_) sink_(before_, {});
    if (!op.parameters.empty()) container_ = op.container;
    sink_(before_, op.parameters);
  }
  void leave(const Operator& op) const {
    if (sink_ && op.is_module) sink_(after_, op.parameters);
  }

 private:
  const ModuleSink& sink_;
  ModulePoint before_;
  ModulePoint after_;
  std::string_view container_;
};

bool contains(const std::vector<ValueId>& list, ValueId value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

}  // namespace

OperatorTape::OperatorTape(const OperatorGraph& graph, const std::vector<Bytes>& gradient_bytes,
                           std::string_view prefix, Checkpointing checkpointing, bool early_stop)
    : graph_(graph),
      gradient_bytes_(gradient_bytes),
      prefix_(prefix),
      checkpointing_(checkpointing),
      early_stop_(early_stop),
      savers_(graph.values.size(), 0),
      last_reader_(graph.values.size(), 0),
      live_(graph.values.size()),
      pending_savers_(graph.values.size(), 0),
      gradients_(graph.values.size()) {
  for (std::size_t index = 0; index < graph.operators.size(); ++index) {
    const Operator& op = graph.operators[index];
    for (const ValueId value : op.saved) ++savers_[value];
    // A value that nothing reads dies with the operator that made it.
    for (const ValueId value : op.outputs) last_reader_[value] = index;
    for (const ValueId value : op.inputs) last_reader_[value] = index;
  }
  last_reader_[graph.output] = graph.operators.size();
}

TensorId OperatorTape::allocate(ProgramRecorder& recorder, ValueId value) const {
  return recorder.allocate(graph_.values[value].bytes, ProgramRecorder::compute_stream,
                           MemoryKind::activations, graph_.values[value].name);
}

void OperatorTape::launch(ProgramRecorder& recorder, const std::vector<Launch>& launches,
                          bool recompute) const {
  for (const Launch& entry : launches) {
    cuda::KernelSpec kernel = entry.kernel;
    kernel.recompute = recompute;
    recorder.launch(ProgramRecorder::compute_stream, prefix_ + entry.name, kernel);
  }
}

void OperatorTape::release_value(ProgramRecorder& recorder, ValueId value) {
  if (!live_[value]) return;
  recorder.free(*live_[value]);
  live_[value].reset();
}

bool OperatorTape::survives_forward(ValueId value) const {
  switch (checkpointing_) {
    case Checkpointing::none:
      return is_saved(value);
    case Checkpointing::full:
      return value == graph_.input;
    case Checkpointing::selective:
      break;
  }
  if (value == graph_.input) return true;
  if (!graph_.keeps_unused && !is_saved(value) && last_reader_[value] >= recompute_end()) {
    return false;
  }
  return std::any_of(graph_.operators.begin(), graph_.operators.end(), [value](const Operator& op) {
    return op.kept_by_selective && contains(op.outputs, value);
  });
}

TensorId OperatorTape::forward(ProgramRecorder& recorder, TensorId input,
                               const ModuleSink& modules) {
  live_[graph_.input] = input;
  run_forward(recorder, graph_.operators.size(), false, modules);
  const TensorId output = *live_[graph_.output];
  live_[graph_.output].reset();
  return output;
}

void OperatorTape::run_forward(ProgramRecorder& recorder, std::size_t end, bool recompute,
                               const ModuleSink& modules) {
  ModuleWalk walk(modules, ModulePoint::pre_forward, ModulePoint::post_forward);
  for (std::size_t index = 0; index < end; ++index) {
    const Operator& op = graph_.operators[index];
    walk.enter(op);
    issue_forward(recorder, op, recompute);
    walk.leave(op);
    const auto release_dead = [&](ValueId value) {
      const bool kept =
          recompute ? is_saved(value) || value == graph_.input : survives_forward(value);
      if (last_reader_[value] == index && !kept) release_value(recorder, value);
    };
    for (const ValueId value : op.inputs) release_dead(value);
    for (const ValueId value : op.outputs) release_dead(value);
  }
}

void OperatorTape::issue_forward(ProgramRecorder& recorder, const Operator& op, bool recompute) {
  const bool cached = std::all_of(op.outputs.begin(), op.outputs.end(),
                                  [this](ValueId value) { return live_[value].has_value(); });
  if (cached) return;
  for (const ValueId value : op.outputs) {
    if (!live_[value]) live_[value] = allocate(recorder, value);
  }
  const Workspace workspace(recorder, op.forward_workspace, op.name);
  launch(recorder, op.forward, recompute);
}

/// Operators before this one are run again. An operator saves its inputs before its kernels run,
/// so that one which saves inputs only need not run if it is the last to save anything.
std::size_t OperatorTape::recompute_end() const {
  const std::size_t count = graph_.operators.size();
  if (!early_stop_) return count;
  for (std::size_t index = count; index > 0; --index) {
    const Operator& op = graph_.operators[index - 1];
    if (op.saved.empty()) continue;
    const bool saves_output = std::any_of(op.saved.begin(), op.saved.end(), [&op](ValueId value) {
      return contains(op.outputs, value);
    });
    return saves_output ? index : index - 1;
  }
  return 0;
}

TensorId OperatorTape::backward(ProgramRecorder& recorder, TensorId output_gradient,
                                const ParameterGradientSink& sink, const ModuleSink& modules) {
  if (checkpointing_ != Checkpointing::none) {
    run_forward(recorder, recompute_end(), true, modules);
    release_value(recorder, graph_.output);
  }
  pending_savers_ = savers_;
  gradients_[graph_.output] = {output_gradient};
  gradient_uses_[output_gradient] = 1;
  ModuleWalk walk(modules, ModulePoint::pre_backward, ModulePoint::post_backward);
  for (std::size_t index = graph_.operators.size(); index > 0; --index) {
    const Operator& op = graph_.operators[index - 1];
    walk.enter(op);
    run_backward(recorder, op, sink, [&walk, &op] { walk.leave(op); });
  }
  // What checkpointing kept without any operator saving it.
  for (ValueId value = 0; value < live_.size(); ++value) release_value(recorder, value);

  assert(gradients_[graph_.input].size() == 1);
  const TensorId result = gradients_[graph_.input].front();
  gradients_[graph_.input].clear();
  gradient_uses_.erase(result);
  assert(gradient_uses_.empty());
  return result;
}

void OperatorTape::run_backward(ProgramRecorder& recorder, const Operator& op,
                                const ParameterGradientSink& sink,
                                const std::function<void()>& kernels_issued) {
  if (op.passes_gradient) {
    pass_gradient(recorder, op);
    release_saved(recorder, op);
    return;
  }
  std::vector<TensorId> input_gradients;
  input_gradients.reserve(op.inputs.size());
  for (const ValueId value : op.inputs) input_gradients.push_back(allocate(recorder, value));
  std::vector<TensorId> parameter_gradients;
  parameter_gradients.reserve(op.parameters.size());
  for (const std::size_t parameter : op.parameters) {
    parameter_gradients.push_back(recorder.allocate(gradient_bytes_[parameter],
                                                    ProgramRecorder::compute_stream,
                                                    MemoryKind::gradients, "gradient"));
  }
  {
    const Workspace workspace(recorder, op.backward_workspace, op.name);
    launch(recorder, op.backward, false);
  }
  kernels_issued();
  for (const ValueId value : op.outputs) drop_gradients(recorder, value);
  release_saved(recorder, op);
  for (std::size_t i = 0; i < op.parameters.size(); ++i) {
    sink(op.parameters[i], parameter_gradients[i]);
  }
  for (std::size_t i = 0; i < op.inputs.size(); ++i) {
    accumulate(recorder, op, op.inputs[i], input_gradients[i]);
  }
}

void OperatorTape::pass_gradient(ProgramRecorder& recorder, const Operator& op) {
  const std::vector<TensorId> passed = std::move(gradients_[op.outputs.front()]);
  gradients_[op.outputs.front()].clear();
  for (const TensorId gradient : passed) {
    for (const ValueId input : op.inputs) {
      ++gradient_uses_[gradient];
      accumulate(recorder, op, input, gradient);
    }
    --gradient_uses_[gradient];
  }
}

void OperatorTape::accumulate(ProgramRecorder& recorder, const Operator& op, ValueId value,
                              TensorId gradient) {
  gradient_uses_.try_emplace(gradient, 1);
  std::vector<TensorId>& parts = gradients_[value];
  if (op.fuses_accumulation) drop_gradients(recorder, value);
  if (parts.empty() || !graph_.adds_gradients) {
    parts.push_back(gradient);
    return;
  }
  // Autograd adds in place if nobody else holds the sum so far.
  const TensorId present = parts.front();
  const bool in_place = gradient_uses_[present] == 1;
  const TensorId sum = in_place ? present : allocate(recorder, value);
  launch(recorder, {{graph_.values[value].name + ".accumulate", addition(value)}}, false);
  parts.push_back(gradient);
  if (in_place) parts.erase(parts.begin());
  drop_gradients(recorder, value);
  parts = {sum};
  gradient_uses_.try_emplace(sum, 1);
}

cuda::KernelSpec OperatorTape::addition(ValueId value) const {
  return {.category = cuda::KernelCategory::elementwise,
          .work = gpu::MemoryBoundWork{.kind = gpu::MemoryBoundKind::stream,
                                       .bytes = graph_.values[value].bytes * 3},
          .cpu_cost = graph_.addition_cpu_cost};
}

void OperatorTape::drop_gradients(ProgramRecorder& recorder, ValueId value) {
  for (const TensorId gradient : gradients_[value]) {
    if (--gradient_uses_[gradient] > 0) continue;
    gradient_uses_.erase(gradient);
    recorder.free(gradient);
  }
  gradients_[value].clear();
}

void OperatorTape::release_saved(ProgramRecorder& recorder, const Operator& op) {
  for (const ValueId value : op.saved) {
    if (--pending_savers_[value] == 0) release_value(recorder, value);
  }
}

}  // namespace shardsim::training

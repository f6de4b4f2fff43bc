#include "models/training/transformer_layers.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace shardsim::training {

using cuda::KernelCategory;
using gpu::MemoryBoundKind;
using simcore::Bytes;

std::vector<ValueId> distinct(std::initializer_list<ValueId> values) {
  std::vector<ValueId> result;
  for (const ValueId value : values) {
    if (std::find(result.begin(), result.end(), value) == result.end()) result.push_back(value);
  }
  return result;
}

LayerBuilder::LayerBuilder(const TransformerShape& shape, const KernelContext& context,
                           const std::vector<ParameterShape>& parameters)
    : shape_(shape), context_(context), parameters_(parameters) {
  graph_.adds_gradients = !context.compiled;
  graph_.keeps_unused = !context.compiled;
  graph_.addition_cpu_cost = context.cpu_cost(Pass::backward, 1);
}

namespace {

/// "attention" of "attention.wq"; empty for a module of the block itself.
std::string container_of(std::string_view module) {
  const std::size_t dot = module.rfind('.');
  return std::string(dot == std::string_view::npos ? std::string_view{} : module.substr(0, dot));
}

}  // namespace

std::size_t LayerBuilder::parameter_index(std::string_view name) const {
  const auto found =
      std::find_if(parameters_.begin(), parameters_.end(),
                   [name](const ParameterShape& parameter) { return parameter.name == name; });
  assert(found != parameters_.end());
  return static_cast<std::size_t>(found - parameters_.begin());
}

ValueId LayerBuilder::activation(std::string name, std::int64_t width) {
  return graph_.add_value(std::move(name), context_.activation(width));
}

Operator& LayerBuilder::append(std::string name, std::vector<ValueId> inputs,
                               std::vector<ValueId> outputs) {
  Operator op;
  op.name = std::move(name);
  op.inputs = std::move(inputs);
  op.outputs = std::move(outputs);
  graph_.operators.push_back(std::move(op));
  return graph_.operators.back();
}

ValueId LayerBuilder::input(std::string name, std::int64_t width) {
  graph_.input = activation(std::move(name), width);
  return graph_.input;
}

OperatorGraph LayerBuilder::finish(ValueId output) {
  graph_.output = output;
  return std::move(graph_);
}

ValueId LayerBuilder::linear(std::string_view module, ValueId input, std::int64_t outputs,
                             std::int64_t inputs) {
  const std::string name(module);
  const ValueId output = activation(name, outputs);
  Operator& op = append(name, {input}, {output});
  op.saved = {input};
  op.is_module = true;
  op.container = container_of(module);
  op.parameters = {parameter_index(name + ".weight")};
  // The policy keeps the first, third, ... linear layer of a block.
  op.kept_by_selective = linear_layers_++ % 2 == 0;

  const std::int64_t tokens = context_.tokens();
  op.forward = {product(context_, Pass::forward, name, tokens, outputs, inputs)};
  op.backward = {product(context_, Pass::backward, name + ".dgrad", tokens, inputs, outputs),
                 product(context_, Pass::backward, name + ".wgrad", outputs, inputs, tokens)};
  for (std::vector<Launch>* launches : {&op.forward, &op.backward}) {
    for (Launch& entry : *launches) {
      std::get<gpu::GemmWork>(entry.kernel.work).type = context_.linear_type;
    }
  }
  if (shape_.biases) {
    op.parameters.push_back(parameter_index(name + ".bias"));
    op.backward.push_back(streaming(context_, Pass::backward, name + ".bias_grad",
                                    KernelCategory::elementwise, MemoryBoundKind::stream,
                                    context_.activation(outputs)));
  }
  return output;
}

ValueId LayerBuilder::norm(std::string_view module, ValueId input, int readers, bool after_addition,
                           bool adds_forward) {
  const std::string name(module);
  const ValueId output = activation(name, shape_.hidden);
  Operator& op = append(name, {input}, {output});
  op.saved = {input};
  op.is_module = true;
  op.parameters = {parameter_index(name + ".weight")};
  const bool layer_norm = shape_.norm == NormKind::layer_norm;
  if (layer_norm && shape_.biases) op.parameters.push_back(parameter_index(name + ".bias"));

  // Fused: x in, norm out (and the addition's two inputs in, its sum out); backward reads x and
  // the output's gradient, writes x's. Compiled code also reads the parts of the gradients that
  // eager code adds up beforehand.
  std::int64_t forward_passes = 2;
  std::int64_t backward_passes = 3;
  if (context_.compiled) {
    op.fuses_accumulation = true;
    if (adds_forward) forward_passes += 2;
    if (after_addition) ++backward_passes;
    backward_passes += readers - 1;
  }
  const Bytes row = context_.activation(shape_.hidden);
  op.forward = {fusible(context_, Pass::forward, name, KernelCategory::normalization,
                        MemoryBoundKind::norm_forward, row * forward_passes,
                        layer_norm ? eager_layer_norm_forward : eager_rms_norm_forward)};
  op.backward = {fusible(context_, Pass::backward, name + ".backward",
                         KernelCategory::normalization, MemoryBoundKind::norm_backward,
                         row * backward_passes,
                         layer_norm ? eager_layer_norm_backward : eager_rms_norm_backward)};
  return output;
}

ValueId LayerBuilder::head_norm(std::string_view module, ValueId input, std::int64_t heads) {
  const std::string name(module);
  const std::int64_t width = heads * shape_.head_size;
  const ValueId output = activation(name, width);
  Operator& op = append(name, {input}, {output});
  op.saved = {input};
  op.is_module = true;
  op.container = container_of(module);
  op.parameters = {parameter_index(name + ".weight")};
  const Bytes row = context_.activation(width);
  op.forward = {fusible(context_, Pass::forward, name, KernelCategory::normalization,
                        MemoryBoundKind::norm_forward, row * 2, eager_rms_norm_forward)};
  op.backward = {fusible(context_, Pass::backward, name + ".backward",
                         KernelCategory::normalization, MemoryBoundKind::norm_backward, row * 3,
                         eager_rms_norm_backward)};
  return output;
}

ValueId LayerBuilder::add(std::string name, ValueId residual, ValueId branch, bool fused) {
  const ValueId output = activation(name, shape_.hidden);
  Operator& op = append(name, {residual, branch}, {output});
  op.passes_gradient = true;
  if (!(fused && context_.compiled)) {
    op.forward = {streaming(context_, Pass::forward, std::move(name), KernelCategory::elementwise,
                            MemoryBoundKind::stream, context_.activation(shape_.hidden) * 3)};
  }
  return output;
}

ValueId LayerBuilder::dropout(const std::string& name, ValueId input, std::int64_t elements) {
  if (context_.compiled) return input;
  const Bytes data{elements * context_.element_bytes()};
  const Bytes mask_bytes{elements};
  const ValueId output = graph_.add_value(name, data);
  const ValueId mask = graph_.add_value(name + ".mask", mask_bytes);
  Operator& op = append(name, {input}, {output, mask});
  op.saved = {mask};
  op.is_module = true;
  op.forward = {streaming(context_, Pass::forward, name, KernelCategory::elementwise,
                          MemoryBoundKind::stream, data * 2 + mask_bytes)};
  op.backward = {streaming(context_, Pass::backward, name + ".backward",
                           KernelCategory::elementwise, MemoryBoundKind::stream,
                           data * 2 + mask_bytes)};
  return output;
}

ValueId LayerBuilder::gelu(const std::string& name, ValueId input, std::int64_t width) {
  const ValueId output = activation(name, width);
  Operator& op = append(name, {input}, {output});
  op.saved = {input};
  op.is_module = true;
  const Bytes row = context_.activation(width);
  op.forward = {streaming(context_, Pass::forward, name, KernelCategory::elementwise,
                          MemoryBoundKind::activation_forward, row * 2)};
  op.backward = {streaming(context_, Pass::backward, name + ".backward",
                           KernelCategory::elementwise, MemoryBoundKind::activation_backward,
                           row * 3)};
  return output;
}

/// Fused: gate and up in, product out (3); backward reads both and the gradient, writes two
/// gradients (5). Eager splits it into silu (2 forward, 3 backward) and product (3, twice 3).
ValueId LayerBuilder::swiglu(const std::string& name, ValueId gate, ValueId up,
                             std::int64_t width) {
  const Bytes row = context_.activation(width);
  const auto kernel = [&](Pass pass, std::string kernel_name, std::int64_t rows, int launches) {
    return streaming(context_, pass, std::move(kernel_name), KernelCategory::elementwise,
                     pass == Pass::forward ? MemoryBoundKind::activation_forward
                                           : MemoryBoundKind::activation_backward,
                     row * rows, launches);
  };
  if (context_.compiled) {
    const ValueId output = activation(name, width);
    Operator& op = append(name, {gate, up}, {output});
    op.saved = {gate, up};
    op.forward = {kernel(Pass::forward, name, 3, 1)};
    op.backward = {kernel(Pass::backward, name + ".backward", 5, 1)};
    return output;
  }
  const ValueId activated = activation(name + ".silu", width);
  Operator& silu = append(name + ".silu", {gate}, {activated});
  silu.saved = {gate};
  silu.is_module = true;
  silu.forward = {kernel(Pass::forward, silu.name, 2, 1)};
  silu.backward = {kernel(Pass::backward, silu.name + ".backward", 3, 1)};
  const ValueId output = activation(name, width);
  Operator& multiply = append(name, {activated, up}, {output});
  multiply.saved = {activated, up};
  multiply.forward = {kernel(Pass::forward, name, 3, 1)};
  multiply.backward = {kernel(Pass::backward, name + ".backward", 6, 2)};
  return output;
}

}  // namespace shardsim::training

// The final norm, the head and the loss of a transformer.

#include <algorithm>
#include <cmath>
#include <string>

#include "models/training/transformer_block.hpp"

namespace shardsim::training {

using cuda::KernelCategory;
using gpu::MemoryBoundKind;
using simcore::Bytes;

OperatorGraph head_graph(const TransformerShape& shape, const KernelContext& context,
                         const std::vector<ParameterShape>& parameters,
                         double loss_bytes_per_logit) {
  const ModuleNames& names = module_names(shape.family);
  LayerBuilder layers(shape, context, parameters);
  const ValueId x = layers.input("residual", shape.hidden);
  const ValueId normed = layers.norm(names.final_norm, x, 1, false, false);
  const std::size_t table = shape.tied_embeddings ? 0 : parameters.size() - 1;
  const ValueId logits = layers.logits(names.head, table, normed);
  return layers.finish(layers.loss(logits, loss_bytes_per_logit));
}

ValueId LayerBuilder::logits(std::string_view module, std::size_t parameter, ValueId input) {
  const std::string name(module);
  const ValueId output = activation("logits", shape_.vocabulary);
  Operator& op = append(name, {input}, {output});
  op.saved = {input};
  op.is_module = true;
  op.parameters = {parameter};
  const std::int64_t tokens = context_.tokens();
  op.forward = {product(context_, Pass::forward, name, tokens, shape_.vocabulary, shape_.hidden)};
  op.backward = {
      product(context_, Pass::backward, name + ".dgrad", tokens, shape_.hidden, shape_.vocabulary),
      product(context_, Pass::backward, name + ".wgrad", shape_.vocabulary, shape_.hidden, tokens)};
  return output;
}

/// Memory, for each logit of w bytes, by what the loss holds at its peak (bytes_per_logit):
///   eager  forward the logit, its fp32 copy and the log-softmax, which is saved: w + 4 + 4;
///          backward the latter, its gradient, and the gradient before it: 12 in all
///   fused  the logit and its gradient
/// A loss without room for an fp32 copy beside the logits is fused, whoever fused it. Traffic in 16
/// bits: fused reads the logits once forward and writes the gradient over them backward, 6 bytes a
/// logit in all; eager casts up, takes the log-softmax, and in backward its gradient and the cast
/// down, about 26.
ValueId LayerBuilder::loss(ValueId logits, double bytes_per_logit) {
  constexpr double wide = 4;  // fp32
  const std::int64_t count = context_.tokens() * shape_.vocabulary;
  const std::int64_t width = context_.element_bytes();
  const double beside = std::max(0.0, bytes_per_logit - static_cast<double>(width));
  const bool fused = beside < wide;
  const double kept = std::min(beside / 2, wide);
  const auto for_all = [count](double bytes) {
    return Bytes{std::llround(static_cast<double>(count) * bytes)};
  };
  const ValueId output = graph_.add_value("loss", Bytes{4});
  Operator& op = append("loss", {logits}, {output});
  if (kept > 0) {
    const ValueId saved = graph_.add_value("loss.log_softmax", for_all(kept));
    op.outputs.push_back(saved);
    op.saved = {saved};
  }
  op.forward_workspace = for_all(std::min(beside - kept, wide));
  op.backward_workspace = for_all(beside - kept);

  const std::int64_t forward_bytes = fused ? width : width == 4 ? 8 : 14;
  const std::int64_t backward_bytes = fused ? 2 * width : 12;
  const int launches = fused ? 1 : 3;
  op.forward = {streaming(context_, Pass::forward, "loss", KernelCategory::loss,
                          MemoryBoundKind::cross_entropy, Bytes{count * forward_bytes}, launches)};
  op.backward = {streaming(context_, Pass::backward, "loss.backward", KernelCategory::loss,
                           MemoryBoundKind::cross_entropy, Bytes{count * backward_bytes},
                           launches)};
  return output;
}

}  // namespace shardsim::training

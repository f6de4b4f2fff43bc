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
                         const std::vector<ParameterShape>& parameters) {
  const ModuleNames& names = module_names(shape.family);
  LayerBuilder layers(shape, context, parameters);
  const ValueId x = layers.input("residual", shape.hidden);
  const ValueId normed = layers.norm(names.final_norm, x, 1, false, false);
  const std::size_t table = shape.tied_embeddings ? 0 : parameters.size() - 1;
  return layers.finish(layers.logits(names.head, table, normed));
}

OperatorGraph loss_graph(const TransformerShape& shape, const KernelContext& context,
                         double bytes_per_logit) {
  const std::vector<ParameterShape> none;
  LayerBuilder layers(shape, context, none);
  const ValueId logits = layers.input("logits", shape.vocabulary);
  return layers.finish(layers.loss(logits, bytes_per_logit));
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

namespace {

constexpr double wide = 4;               // bytes of fp32
constexpr double eager_loss = 3 * wide;  // log-softmax, its gradient, the gradient before it
constexpr int eager_launches = 3;

Bytes for_all(std::int64_t logits, double bytes) {
  return Bytes{std::llround(static_cast<double>(logits) * bytes)};
}

}  // namespace

/// Memory, for each logit of w bytes, by what the loss holds at its peak (bytes_per_logit):
///   eager  from 12 on: see eager_loss
///   fused  from 2 w on: the logit, which is saved, and its gradient; below, the gradient takes the
///          logit's place, in whole or in chunks
/// A loss without room for an fp32 copy beside the logits is fused, whoever fused it. Traffic in 16
/// bits: fused reads the logits once forward and writes the gradient over them backward, 6 bytes a
/// logit in all; eager casts up, takes the log-softmax, and in backward its gradient and the cast
/// down, about 26.
ValueId LayerBuilder::loss(ValueId logits, double bytes_per_logit) {
  const std::int64_t count = context_.tokens() * shape_.vocabulary;
  const std::int64_t width = context_.element_bytes();
  if (bytes_per_logit >= eager_loss) return cross_entropy(logits, bytes_per_logit - eager_loss);
  const double beside = std::max(0.0, bytes_per_logit - static_cast<double>(width));
  const bool fused = beside < wide;
  const double kept = std::min(beside / 2, wide);
  const ValueId output = graph_.add_value("loss", Bytes{4});
  Operator& op = append("loss", {logits}, {output});
  const double both = 2 * static_cast<double>(width);
  if (bytes_per_logit >= both) {  // backward looks at the logits
    op.saved = {logits};
    op.backward_workspace = for_all(count, bytes_per_logit - both);
    add_loss_kernels(op, fused);
    return output;
  }
  if (kept > 0) {
    const ValueId saved = graph_.add_value("loss.log_softmax", for_all(count, kept));
    op.outputs.push_back(saved);
    op.saved = {saved};
  }
  op.forward_workspace = for_all(count, std::min(beside - kept, wide));
  op.backward_workspace = for_all(count, beside - kept);
  add_loss_kernels(op, fused);
  return output;
}

void LayerBuilder::add_loss_kernels(Operator& op, bool fused) const {
  const std::int64_t count = context_.tokens() * shape_.vocabulary;
  const std::int64_t width = context_.element_bytes();
  const std::int64_t forward_bytes = fused ? width : width == 4 ? 8 : 14;
  const std::int64_t backward_bytes = fused ? 2 * width : 12;
  const int launches = fused ? 1 : eager_launches;
  op.forward = {streaming(context_, Pass::forward, "loss", KernelCategory::loss,
                          MemoryBoundKind::cross_entropy, Bytes{count * forward_bytes}, launches)};
  op.backward = {streaming(context_, Pass::backward, "loss.backward", KernelCategory::loss,
                           MemoryBoundKind::cross_entropy, Bytes{count * backward_bytes},
                           launches)};
}

/// PyTorch's cross-entropy of fp32 logits, tensor by tensor: where each of them comes to lie
/// decides what the allocator reserves. Forward casts the logits up and takes the log-softmax,
/// which is saved; both kinds of logits die. Backward makes the gradient of the log-softmax, from
/// both that of the fp32 logits, and from that of the logits in 16 bits. The gradient of the
/// log-softmax fits where the fp32 logits were; the next one does not fit into the room of the
/// 16-bit ones.
/// `kept` bytes a logit more live until backward ends, because the training loop refers to them:
/// the fp32 logits (4), those in 16 bits (2), or passing memory.
ValueId LayerBuilder::cross_entropy(ValueId logits, double kept) {
  const std::int64_t count = context_.tokens() * shape_.vocabulary;
  const std::int64_t width = context_.element_bytes();
  ValueId input = logits;
  if (width < static_cast<std::int64_t>(wide)) {
    input = graph_.add_value("logits.float", for_all(count, wide));
    Operator& cast = append("loss.float", {logits}, {input});
    if (kept < wide && kept >= static_cast<double>(width)) {
      cast.saved = {logits};
      kept -= static_cast<double>(width);
    }
  }
  const ValueId probabilities = graph_.add_value("loss.log_softmax", for_all(count, wide));
  Operator& softmax = append("loss", {input}, {probabilities});
  softmax.saved = {probabilities};
  if (kept >= wide) {
    softmax.saved.push_back(input);
    kept -= wide;
  }
  softmax.backward_workspace = for_all(count, kept);
  add_loss_kernels(softmax, false);
  const ValueId output = graph_.add_value("loss", Bytes{4});
  append("loss.nll", {probabilities}, {output});
  return output;
}

}  // namespace shardsim::training

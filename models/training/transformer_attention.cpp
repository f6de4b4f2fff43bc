// Attention of a transformer block, fused and unfused, and rotary positions.

#include <string>
#include <utility>

#include "models/training/transformer_layers.hpp"

namespace shardsim::training {

using cuda::KernelCategory;
using gpu::MemoryBoundKind;
using simcore::Bytes;

namespace {

gpu::AttentionImplementation implementation(AttentionKind kind) {
  switch (kind) {
    case AttentionKind::flash_1:
      return gpu::AttentionImplementation::flash_attention_1;
    case AttentionKind::flash_3:
      return gpu::AttentionImplementation::flash_attention_3;
    case AttentionKind::cudnn:
      return gpu::AttentionImplementation::cudnn;
    case AttentionKind::flash:
    case AttentionKind::math:
      break;
  }
  return gpu::AttentionImplementation::flash_attention_2;
}

Launch attention_kernel(const TransformerShape& shape, const KernelContext& context,
                        AttentionKind kind, Pass pass) {
  const bool backward = pass == Pass::backward;
  const int operations = context.compiled ? 1
                         : backward       ? attention_backward_operations
                                          : attention_forward_operations;
  return {std::string(module_names(shape.family).attention) + (backward ? ".backward" : ""),
          {.category = KernelCategory::attention,
           .work = gpu::AttentionWork{.batch = context.batch,
                                      .heads = shape.heads,
                                      .kv_heads = shape.kv_heads,
                                      .query_length = context.sequence_length,
                                      .key_length = context.sequence_length,
                                      .head_size = shape.head_size,
                                      .causal = true,
                                      .backward = backward,
                                      .type = context.type,
                                      .implementation = implementation(kind)},
           .cpu_cost = context.cpu_cost(pass, operations)}};
}

}  // namespace

/// q and k are cast to fp32, multiplied as pairs by complex numbers, and cast back; backward alike.
/// Compilers that know no complex numbers leave it so.
Launch LayerBuilder::complex_rotary(Pass pass, std::string name, std::int64_t width) const {
  constexpr std::int64_t wide = 4;  // bytes of fp32
  const std::int64_t cast = context_.element_bytes() + wide;
  const Bytes traffic{context_.tokens() * width * (cast + 2 * wide + cast)};
  return streaming(context_, pass, std::move(name), KernelCategory::elementwise,
                   MemoryBoundKind::stream, traffic, 6);
}

LayerBuilder::Projections LayerBuilder::rotary(Projections projections) {
  const std::string name = std::string(module_names(shape_.family).attention) + ".rotary";
  const std::int64_t width = shape_.attention_width() + shape_.kv_width();
  const ValueId q = activation(name + ".q", shape_.attention_width());
  const ValueId k = activation(name + ".k", shape_.kv_width());
  Operator& op = append(name, distinct({projections.q, projections.k}), {q, k});
  const Bytes traffic = context_.activation(width) * 2;
  if (shape_.complex_rotary) {
    op.forward = {complex_rotary(Pass::forward, name, width)};
    op.backward = {complex_rotary(Pass::backward, name + ".backward", width)};
    return {q, k, projections.v};
  }
  op.forward = {fusible(context_, Pass::forward, name, KernelCategory::elementwise,
                        MemoryBoundKind::rotary, traffic, eager_rotary)};
  op.backward = {fusible(context_, Pass::backward, name + ".backward", KernelCategory::elementwise,
                         MemoryBoundKind::rotary, traffic, eager_rotary)};
  return {q, k, projections.v};
}

ValueId LayerBuilder::attention(Projections projections, AttentionKind kind) {
  return kind == AttentionKind::math ? unfused_attention(projections)
                                     : fused_attention(projections, kind);
}

ValueId LayerBuilder::fused_attention(Projections projections, AttentionKind kind) {
  const std::string name(module_names(shape_.family).attention);
  const ValueId output = activation(name + ".output", shape_.attention_width());
  const ValueId statistic =  // fp32 log-sum-exp of every row
      graph_.add_value(name + ".logsumexp", Bytes{4 * context_.tokens() * shape_.heads});
  const std::vector<ValueId> inputs = distinct({projections.q, projections.k, projections.v});
  Operator& op = append(name, inputs, {output, statistic});
  op.saved = inputs;
  op.saved.push_back(output);
  op.saved.push_back(statistic);
  op.kept_by_selective = context_.selective_keeps_attention;
  op.forward = {attention_kernel(shape_, context_, kind, Pass::forward)};
  add_fused_attention_backward(op, kind, inputs.size() == 1);
  return output;
}

/// Backward accumulates dQ in fp32 and needs a scalar a row. FlashAttention-2 writes dK and dV for
/// every query head and sums them over each group afterwards; where one layer made q, k and v,
/// their gradients are concatenated.
void LayerBuilder::add_fused_attention_backward(Operator& op, AttentionKind kind,
                                                bool packed) const {
  op.backward = {attention_kernel(shape_, context_, kind, Pass::backward)};
  op.backward_workspace = Bytes{context_.tokens() * 4 * (shape_.attention_width() + shape_.heads)};
  const bool expands = kind == AttentionKind::flash || kind == AttentionKind::flash_1;
  if (expands && shape_.kv_heads < shape_.heads) {
    const Bytes expanded = context_.activation(2 * shape_.attention_width());
    op.backward_workspace += expanded;
    op.backward.push_back(streaming(context_, Pass::backward, op.name + ".sum_groups",
                                    KernelCategory::elementwise, MemoryBoundKind::stream,
                                    expanded + context_.activation(2 * shape_.kv_width()), 2));
  }
  if (packed) {
    const Bytes parts = context_.activation(shape_.attention_width() + 2 * shape_.kv_width());
    op.backward_workspace += parts;
    op.backward.push_back(streaming(context_, Pass::backward, op.name + ".split.backward",
                                    KernelCategory::elementwise, MemoryBoundKind::stream,
                                    parts * 2));
  }
}

/// Unfused kernels see as many key-value heads as query heads.
LayerBuilder::Projections LayerBuilder::repeat_heads(Projections projections) {
  if (shape_.kv_heads == shape_.heads) return projections;
  const std::string name = std::string(module_names(shape_.family).attention) + ".repeat_kv";
  const ValueId k = activation(name + ".k", shape_.attention_width());
  const ValueId v = activation(name + ".v", shape_.attention_width());
  Operator& op = append(name, distinct({projections.k, projections.v}), {k, v});
  const Bytes traffic = context_.activation(2 * (shape_.attention_width() + shape_.kv_width()));
  op.forward = {streaming(context_, Pass::forward, name, KernelCategory::elementwise,
                          MemoryBoundKind::stream, traffic, 2)};
  op.backward = {streaming(context_, Pass::backward, name + ".backward",
                           KernelCategory::elementwise, MemoryBoundKind::stream, traffic, 2)};
  return {projections.q, k, v};
}

/// Scale, mask (and bias) and softmax; backward the softmax, mask and scale. Eager code makes a
/// pass over the scores for each.
ValueId LayerBuilder::softmax(ValueId scores, std::int64_t elements) {
  const std::string name = std::string(module_names(shape_.family).attention) + ".softmax";
  const Bytes data{elements * context_.element_bytes()};
  const ValueId probabilities = graph_.add_value(name, data);
  Operator& op = append(name, {scores}, {probabilities});
  op.saved = {probabilities};
  const int passes = shape_.positions == PositionKind::alibi ? 4 : 3;
  op.forward = {fusible(context_, Pass::forward, name, KernelCategory::elementwise,
                        MemoryBoundKind::softmax, data * 2, {static_cast<double>(passes), passes})};
  op.backward = {fusible(context_, Pass::backward, name + ".backward", KernelCategory::elementwise,
                         MemoryBoundKind::softmax, data * 3, {7.0 / 3.0, 3})};
  return probabilities;
}

ValueId LayerBuilder::unfused_attention(Projections projections) {
  const std::string name(module_names(shape_.family).attention);
  const auto [q, k, v] = repeat_heads(projections);
  const std::int64_t length = context_.sequence_length;
  const std::int64_t size = shape_.head_size;
  const std::int64_t batch = context_.batch * shape_.heads;
  const std::int64_t elements = batch * length * length;

  const ValueId scores =
      graph_.add_value(name + ".scores", Bytes{elements * context_.element_bytes()});
  Operator& score = append(name + ".scores", distinct({q, k}), {scores});
  score.saved = score.inputs;
  score.forward = {product(context_, Pass::forward, score.name, length, length, size, batch)};
  score.backward = {
      product(context_, Pass::backward, score.name + ".q_grad", length, size, length, batch),
      product(context_, Pass::backward, score.name + ".k_grad", length, size, length, batch)};

  ValueId weights = softmax(scores, elements);
  if (shape_.dropout) weights = dropout(name + ".dropout", weights, elements);

  const ValueId output = activation(name + ".output", shape_.attention_width());
  Operator& context = append(name + ".context", {weights, v}, {output});
  context.saved = context.inputs;
  context.forward = {product(context_, Pass::forward, context.name, length, size, length, batch)};
  context.backward = {
      product(context_, Pass::backward, context.name + ".weight_grad", length, length, size, batch),
      product(context_, Pass::backward, context.name + ".v_grad", length, size, length, batch)};
  return output;
}

}  // namespace shardsim::training

#include "models/training/transformer_block.hpp"

namespace shardsim::training {

namespace {

LayerBuilder::Projections projections(LayerBuilder& layers, const TransformerShape& shape,
                                      const ModuleNames& names, ValueId input) {
  LayerBuilder::Projections result;
  if (shape.fused_qkv) {
    result.q = layers.linear(names.qkv, input, shape.attention_width() + 2 * shape.kv_width(),
                             shape.hidden);
    result.k = result.v = result.q;
  } else {
    result.q = layers.linear(names.q, input, shape.attention_width(), shape.hidden);
    result.k = layers.linear(names.k, input, shape.kv_width(), shape.hidden);
    result.v = layers.linear(names.v, input, shape.kv_width(), shape.hidden);
  }
  if (shape.qk_norm) {
    result.q = layers.head_norm(names.q_norm, result.q, shape.heads);
    result.k = layers.head_norm(names.k_norm, result.k, shape.kv_heads);
  }
  return shape.positions == PositionKind::rotary ? layers.rotary(result) : result;
}

ValueId feed_forward(LayerBuilder& layers, const TransformerShape& shape, const ModuleNames& names,
                     ValueId input) {
  const std::int64_t width = shape.ffn_hidden;
  if (shape.mlp == MlpKind::gelu) {
    const ValueId up = layers.linear(names.up, input, width, shape.hidden);
    return layers.linear(names.down, layers.gelu("gelu", up, width), shape.hidden, width);
  }
  const ValueId gate = layers.linear(names.gate, input, width, shape.hidden);
  const ValueId up = layers.linear(names.up, input, width, shape.hidden);
  return layers.linear(names.down, layers.swiglu("swiglu", gate, up, width), shape.hidden, width);
}

}  // namespace

OperatorGraph block_graph(const TransformerShape& shape, const KernelContext& context,
                          const std::vector<ParameterShape>& parameters, AttentionKind attention) {
  const ModuleNames& names = module_names(shape.family);
  LayerBuilder layers(shape, context, parameters);
  const auto dropped = [&](const std::string& name, ValueId value) {
    return shape.dropout ? layers.dropout(name, value, context.tokens() * shape.hidden) : value;
  };

  const ValueId x = layers.input("residual", shape.hidden);
  const ValueId norm1 = layers.norm(names.norm1, x, shape.fused_qkv ? 1 : 3, true, false);
  const ValueId mixed = layers.attention(projections(layers, shape, names, norm1), attention);
  const ValueId attended =
      layers.linear(names.attention_output, mixed, shape.hidden, shape.attention_width());
  const ValueId middle =
      layers.add("attention.add", x, dropped("attention.dropout", attended), true);

  const int readers = shape.mlp == MlpKind::gelu ? 1 : 2;
  const ValueId norm2 = layers.norm(names.norm2, middle, readers, true, true);
  const ValueId fed = feed_forward(layers, shape, names, norm2);
  return layers.finish(
      layers.add("feed_forward.add", middle, dropped("feed_forward.dropout", fed), false));
}

}  // namespace shardsim::training

#include "models/training/transformer_parameters.hpp"

#include <string>

namespace shardsim::training {
namespace {

constexpr ModuleNames gpt_names{.embedding = "wte",
                                .positions = "wpe",
                                .final_norm = "ln_f",
                                .head = "lm_head",
                                .norm1 = "ln_1",
                                .norm2 = "ln_2",
                                .qkv = "attn.c_attn",
                                .q = "attn.q_proj",
                                .k = "attn.k_proj",
                                .v = "attn.v_proj",
                                .attention_output = "attn.c_proj",
                                .q_norm = "attn.q_norm",
                                .k_norm = "attn.k_norm",
                                .up = "mlp.c_fc",
                                .gate = "mlp.c_gate",
                                .down = "mlp.c_proj",
                                .attention = "attn",
                                .layers = "h"};

constexpr ModuleNames llama_names{.embedding = "tok_embeddings",
                                  .positions = "pos_embeddings",
                                  .final_norm = "norm",
                                  .head = "output",
                                  .norm1 = "attention_norm",
                                  .norm2 = "ffn_norm",
                                  .qkv = "attention.wqkv",
                                  .q = "attention.wq",
                                  .k = "attention.wk",
                                  .v = "attention.wv",
                                  .attention_output = "attention.wo",
                                  .q_norm = "attention.q_norm",
                                  .k_norm = "attention.k_norm",
                                  .up = "feed_forward.w3",
                                  .gate = "feed_forward.w1",
                                  .down = "feed_forward.w2",
                                  .attention = "attention",
                                  .layers = "layers"};

constexpr ModuleNames mpt_names{.embedding = "wte",
                                .positions = "wpe",
                                .final_norm = "norm_f",
                                .head = "lm_head",
                                .norm1 = "norm_1",
                                .norm2 = "norm_2",
                                .qkv = "attn.Wqkv",
                                .q = "attn.q_proj",
                                .k = "attn.k_proj",
                                .v = "attn.v_proj",
                                .attention_output = "attn.out_proj",
                                .q_norm = "attn.q_ln",
                                .k_norm = "attn.k_ln",
                                .up = "ffn.up_proj",
                                .gate = "ffn.gate_proj",
                                .down = "ffn.down_proj",
                                .attention = "attn",
                                .layers = "blocks"};

class ParameterList {
 public:
  explicit ParameterList(const TransformerShape& shape) : shape_(shape) {}

  void linear(std::string_view module, std::int64_t outputs, std::int64_t inputs) {
    add(module, ".weight", {outputs, inputs});
    if (shape_.biases) add(module, ".bias", {outputs});
  }
  void norm(std::string_view module) {
    add(module, ".weight", {shape_.hidden});
    if (shape_.norm == NormKind::layer_norm && shape_.biases) add(module, ".bias", {shape_.hidden});
  }
  void head_norm(std::string_view module) { add(module, ".weight", {shape_.head_size}); }
  void table(std::string_view module, std::int64_t rows) {
    add(module, ".weight", {rows, shape_.hidden});
  }
  std::vector<ParameterShape> take() { return std::move(list_); }

 private:
  void add(std::string_view module, std::string_view parameter, std::vector<std::int64_t> sizes) {
    list_.push_back({std::string(module) + std::string(parameter), std::move(sizes)});
  }

  const TransformerShape& shape_;
  std::vector<ParameterShape> list_;
};

void add_attention(ParameterList& list, const TransformerShape& shape, const ModuleNames& names) {
  const std::int64_t width = shape.attention_width();
  const std::int64_t kv_width = shape.kv_width();
  if (shape.fused_qkv) {
    list.linear(names.qkv, width + 2 * kv_width, shape.hidden);
  } else {
    list.linear(names.q, width, shape.hidden);
    list.linear(names.k, kv_width, shape.hidden);
    list.linear(names.v, kv_width, shape.hidden);
  }
  list.linear(names.attention_output, shape.hidden, width);
  if (shape.qk_norm) {
    list.head_norm(names.q_norm);
    list.head_norm(names.k_norm);
  }
}

void add_feed_forward(ParameterList& list, const TransformerShape& shape,
                      const ModuleNames& names) {
  if (shape.mlp == MlpKind::gelu) {
    list.linear(names.up, shape.ffn_hidden, shape.hidden);
    list.linear(names.down, shape.hidden, shape.ffn_hidden);
    return;
  }
  list.linear(names.gate, shape.ffn_hidden, shape.hidden);
  list.linear(names.down, shape.hidden, shape.ffn_hidden);
  list.linear(names.up, shape.ffn_hidden, shape.hidden);
}

}  // namespace

const ModuleNames& module_names(ModelFamily family) {
  switch (family) {
    case ModelFamily::gpt:
      return gpt_names;
    case ModelFamily::mpt:
      return mpt_names;
    case ModelFamily::llama:
      break;
  }
  return llama_names;
}

std::vector<ParameterShape> block_parameters(const TransformerShape& shape) {
  const ModuleNames& names = module_names(shape.family);
  ParameterList list(shape);
  if (shape.family == ModelFamily::llama) {  // its norms are registered last
    add_attention(list, shape, names);
    add_feed_forward(list, shape, names);
    list.norm(names.norm1);
    list.norm(names.norm2);
  } else {
    list.norm(names.norm1);
    add_attention(list, shape, names);
    list.norm(names.norm2);
    add_feed_forward(list, shape, names);
  }
  return list.take();
}

std::vector<ParameterShape> root_parameters(const TransformerShape& shape) {
  const ModuleNames& names = module_names(shape.family);
  ParameterList list(shape);
  list.table(names.embedding, shape.vocabulary);
  if (shape.position_rows > 0) list.table(names.positions, shape.position_rows);
  list.norm(names.final_norm);
  if (!shape.tied_embeddings) list.table(names.head, shape.vocabulary);
  return list.take();
}

std::int64_t element_count(const std::vector<ParameterShape>& parameters) {
  std::int64_t total = 0;
  for (const ParameterShape& parameter : parameters) total += parameter.elements();
  return total;
}

std::int64_t parameter_count(const TransformerShape& shape) {
  return shape.layers * element_count(block_parameters(shape)) +
         element_count(root_parameters(shape));
}

}  // namespace shardsim::training

#include "models/training/model_spec.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "simcore/text_file.hpp"

namespace shardsim::training {

using simcore::ConfigNode;
using simcore::Diagnostics;

namespace {

struct FamilyChoices {
  NormKind norm;
  MlpKind mlp;
  PositionKind positions;
  bool biases;
  bool tied_embeddings;
  bool fused_qkv;
};

FamilyChoices choices(ModelFamily family) {
  if (family == ModelFamily::llama) {
    return {NormKind::rms_norm, MlpKind::swiglu, PositionKind::rotary, false, false, false};
  }
  return {NormKind::layer_norm, MlpKind::gelu, PositionKind::learned, true, true, true};
}

bool names_a_path(const std::string& name) {
  return name.find('/') != std::string::npos || name.ends_with(".yaml") || name.ends_with(".yml");
}

std::optional<std::filesystem::path> find_model(const ModelReference& reference,
                                                const ModelSearch& search,
                                                Diagnostics& diagnostics) {
  // Only listed names, so that a name cannot reach outside the library.
  const std::vector<std::string> names = simcore::file_stems(search.library, ".yaml");
  if (names_a_path(reference.name)) {
    std::filesystem::path path = search.relative / reference.name;
    if (simcore::is_text_file(path)) return path;
    diagnostics.error(reference.where,
                      fmt::format("there is no model file '{}'", path.generic_string()),
                      simcore::nearest_name(reference.name, names));
    return std::nullopt;
  }
  if (std::binary_search(names.begin(), names.end(), reference.name)) {
    return search.library / (reference.name + ".yaml");
  }
  diagnostics.error(reference.where,
                    fmt::format("no model is called '{}'; expected one of {}, the path of a YAML "
                                "file, or the model's keys",
                                reference.name, fmt::join(names, ", ")),
                    simcore::nearest_name(reference.name, names));
  return std::nullopt;
}

void check_heads(const ModelSpec& spec, const ConfigNode& node, Diagnostics& diagnostics) {
  const std::int64_t kv_heads = spec.kv_heads.value_or(spec.heads);
  if (spec.heads % kv_heads != 0) {
    diagnostics.error(node.where_value("kv_heads"),
                      fmt::format("kv_heads: {} heads cannot be shared out evenly to {} key-value "
                                  "heads; expected a divisor of heads",
                                  spec.heads, kv_heads));
  }
  if (!spec.head_size && spec.hidden % spec.heads != 0) {
    diagnostics.error(node.where_value("heads"),
                      fmt::format("heads: hidden size {} is not a multiple of {} heads; expected a "
                                  "divisor, or head_size beside it",
                                  spec.hidden, spec.heads));
  }
}

}  // namespace

void ModelSpec::describe(simcore::Fields<ModelSpec>& fields) {
  constexpr std::int64_t wide = 1'000'000;
  fields.required("family", &ModelSpec::family,
                  "Line of models: names of the modules, and the usual choice of norm, mlp, "
                  "positions, biases and tied_embeddings.");
  fields.required("layers", &ModelSpec::layers, "Number of equal blocks.").range(1, 10'000);
  fields.required("hidden", &ModelSpec::hidden, "Width of the residual stream.").range(1, wide);
  fields.required("heads", &ModelSpec::heads, "Query heads of the attention.").range(1, 10'000);
  fields
      .required("vocabulary", &ModelSpec::vocabulary,
                "Rows of the embedding and of the head, padding included.")
      .range(1, 10'000'000);
  fields
      .optional("kv_heads", &ModelSpec::kv_heads,
                "Key and value heads (grouped-query attention); by default as many as heads.")
      .range(1, 10'000);
  fields
      .optional("head_size", &ModelSpec::head_size, "Width of one head; by default hidden / heads.")
      .range(1, 10'000);
  fields
      .optional("ffn_hidden", &ModelSpec::ffn_hidden,
                "Inner width of the feed-forward network; by default 4 times hidden for gelu. "
                "swiglu has no default.")
      .range(1, 10 * wide);
  fields
      .optional("maximum_positions", &ModelSpec::maximum_positions,
                "Longest sequence; rows of a learned position table. By default such a table is "
                "as long as the workload's sequences.")
      .range(1, 100 * wide);
  fields.optional("norm", &ModelSpec::norm, "Normalisation; by default the family's.");
  fields.optional("mlp", &ModelSpec::mlp, "Feed-forward network; by default the family's.");
  fields.optional("positions", &ModelSpec::positions,
                  "How positions enter; by default the family's.");
  fields.optional("biases", &ModelSpec::biases,
                  "Whether linear layers and layer norms have biases; by default the family's.");
  fields.optional("tied_embeddings", &ModelSpec::tied_embeddings,
                  "Whether the head uses the embedding's table; by default the family's.");
  fields.optional("qk_norm", &ModelSpec::qk_norm, "RMS norm over each head of q and k.");
  fields.optional(
      "complex_rotary", &ModelSpec::complex_rotary,
      "Rotary positions as a product of complex fp32 numbers (Meta's code, torchtitan); "
      "torch.compile does not fuse it.");
  fields.optional("dropout", &ModelSpec::dropout,
                  "Dropout after attention and feed-forward network, and inside unfused "
                  "attention.");
}

void ModelSpec::check(const ModelSpec& spec, const ConfigNode& node, Diagnostics& diagnostics) {
  check_heads(spec, node, diagnostics);
  if (spec.mlp.value_or(choices(spec.family).mlp) == MlpKind::swiglu && !spec.ffn_hidden) {
    diagnostics.error(node.where(), "ffn_hidden is missing; a swiglu network needs it");
  }
  if (node.has("complex_rotary") &&
      spec.positions.value_or(choices(spec.family).positions) != PositionKind::rotary) {
    diagnostics.warning(node.where_key("complex_rotary"),
                        "complex_rotary has no effect unless positions is rotary");
  }
}

TransformerShape resolve(const ModelSpec& spec, std::int64_t sequence_length) {
  const FamilyChoices family = choices(spec.family);
  TransformerShape shape;
  shape.family = spec.family;
  shape.layers = spec.layers;
  shape.hidden = spec.hidden;
  shape.heads = spec.heads;
  shape.kv_heads = spec.kv_heads.value_or(spec.heads);
  shape.head_size = spec.head_size.value_or(spec.hidden / spec.heads);
  shape.ffn_hidden = spec.ffn_hidden.value_or(4 * spec.hidden);
  shape.vocabulary = spec.vocabulary;
  shape.norm = spec.norm.value_or(family.norm);
  shape.mlp = spec.mlp.value_or(family.mlp);
  shape.positions = spec.positions.value_or(family.positions);
  shape.biases = spec.biases.value_or(family.biases);
  shape.tied_embeddings = spec.tied_embeddings.value_or(family.tied_embeddings);
  shape.qk_norm = spec.qk_norm;
  shape.complex_rotary = spec.complex_rotary;
  shape.fused_qkv = family.fused_qkv;
  shape.dropout = spec.dropout;
  if (shape.positions == PositionKind::learned) {
    shape.position_rows = spec.maximum_positions.value_or(sequence_length);
  }
  return shape;
}

std::optional<ModelSpec> load_model(const ModelReference& reference, const ModelSearch& search,
                                    Diagnostics& diagnostics) {
  if (reference.inline_spec) return reference.inline_spec;
  const auto path = find_model(reference, search, diagnostics);
  if (!path) return std::nullopt;
  return simcore::read_config_file<ModelSpec>(*path, diagnostics);
}

}  // namespace shardsim::training

namespace shardsim::simcore {

using training::ModelReference;
using training::ModelSpec;

std::optional<ModelReference> Codec<ModelReference>::read(const ConfigNode& node,
                                                          ReadContext& context) {
  ModelReference reference;
  reference.where = node.where();
  if (node.is_map()) {
    reference.inline_spec = read_value<ModelSpec>(node, context);
    if (!reference.inline_spec) return std::nullopt;
    return reference;
  }
  if (!node.is_scalar() || node.text().empty()) {
    context.expected(node, "the name of a model, the path of a YAML file, or the model's keys");
    return std::nullopt;
  }
  reference.name = node.text();
  return reference;
}

std::string Codec<ModelReference>::print(const ModelReference& reference) {
  return reference.inline_spec ? print_value(*reference.inline_spec) : print_value(reference.name);
}

TypeSchema Codec<ModelReference>::schema() {
  return choice_of({schema_of<std::string>(), schema_of<ModelSpec>()});
}

}  // namespace shardsim::simcore

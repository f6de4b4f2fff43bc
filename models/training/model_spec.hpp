// A language model as a scenario names it: `workload.model` is the name of a shipped model, the
// path of a file, or the same keys inline.
//
// A family sets the usual choices, which single keys override:
//
//   family  norm        mlp     positions  biases  tied_embeddings  q, k, v
//   gpt     layer_norm  gelu    learned    yes     yes              one layer
//   mpt     layer_norm  gelu    learned    yes     yes              one layer
//   llama   rms_norm    swiglu  rotary     no      no               three layers
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "models/training/transformer_shape.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::training {

struct ModelSpec {
  ModelFamily family = ModelFamily::llama;
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t vocabulary = 1;
  std::optional<std::int64_t> kv_heads;
  std::optional<std::int64_t> head_size;
  std::optional<std::int64_t> ffn_hidden;
  std::optional<std::int64_t> maximum_positions;
  std::optional<NormKind> norm;
  std::optional<MlpKind> mlp;
  std::optional<PositionKind> positions;
  std::optional<bool> biases;
  std::optional<bool> tied_embeddings;
  bool qk_norm = false;
  bool complex_rotary = false;
  bool dropout = false;

  static void describe(simcore::Fields<ModelSpec>& fields);
  static void check(const ModelSpec& spec, const simcore::ConfigNode& node,
                    simcore::Diagnostics& diagnostics);
};

/// Makes every choice. A learned table without `maximum_positions` has `sequence_length` rows.
/// `spec` has passed its check.
TransformerShape resolve(const ModelSpec& spec, std::int64_t sequence_length);

/// `workload.model` as written.
struct ModelReference {
  std::string name;  ///< of a shipped model, or a path; empty if inline
  std::optional<ModelSpec> inline_spec;
  simcore::SourceLocation where;
};

/// Where models are looked for.
struct ModelSearch {
  std::filesystem::path library;   ///< folder of the shipped models: NAME.yaml
  std::filesystem::path relative;  ///< folder that relative paths start from
};

/// The model that `reference` means. A reference with a slash or ending in .yaml or .yml is a path,
/// any other a name in the library. Errors (no such model, a bad file) go to `diagnostics`.
std::optional<ModelSpec> load_model(const ModelReference& reference, const ModelSearch& search,
                                    simcore::Diagnostics& diagnostics);

}  // namespace shardsim::training

namespace shardsim::simcore {

template <>
struct EnumNames<training::ModelFamily> {
  static constexpr auto values =
      std::to_array<EnumName<training::ModelFamily>>({{"gpt", training::ModelFamily::gpt},
                                                      {"llama", training::ModelFamily::llama},
                                                      {"mpt", training::ModelFamily::mpt}});
};
template <>
struct EnumNames<training::NormKind> {
  static constexpr auto values = std::to_array<EnumName<training::NormKind>>(
      {{"layer_norm", training::NormKind::layer_norm}, {"rms_norm", training::NormKind::rms_norm}});
};
template <>
struct EnumNames<training::MlpKind> {
  static constexpr auto values = std::to_array<EnumName<training::MlpKind>>(
      {{"gelu", training::MlpKind::gelu}, {"swiglu", training::MlpKind::swiglu}});
};
template <>
struct EnumNames<training::PositionKind> {
  static constexpr auto values =
      std::to_array<EnumName<training::PositionKind>>({{"learned", training::PositionKind::learned},
                                                       {"rotary", training::PositionKind::rotary},
                                                       {"alibi", training::PositionKind::alibi}});
};
template <>
struct Codec<training::ModelReference> {
  static std::optional<training::ModelReference> read(const ConfigNode& node, ReadContext& context);
  static std::string print(const training::ModelReference& reference);
  static TypeSchema schema();
};

}  // namespace shardsim::simcore

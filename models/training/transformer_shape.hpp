// The shape of a decoder-only transformer, with every choice made.
//
// Models: an embedding (with learned positions or without), equal pre-norm blocks of causal
// attention and a feed-forward network, a final norm and a head over the vocabulary.
// Assumes: every block is alike; attention sees the whole sequence.
// Leaves out: experts, sliding windows, encoders, blocks that differ.
#pragma once

#include <cstdint>

namespace shardsim::training {

/// Names of modules and the usual choices of a line of models; see ModelSpec for what each implies.
enum class ModelFamily : std::uint8_t { gpt, llama, mpt };
enum class NormKind : std::uint8_t { layer_norm, rms_norm };
enum class MlpKind : std::uint8_t { gelu, swiglu };
enum class PositionKind : std::uint8_t { learned, rotary, alibi };

struct TransformerShape {
  ModelFamily family = ModelFamily::llama;
  std::int64_t layers = 1;
  std::int64_t hidden = 1;
  std::int64_t heads = 1;
  std::int64_t kv_heads = 1;
  std::int64_t head_size = 1;
  std::int64_t ffn_hidden = 1;
  std::int64_t vocabulary = 1;
  std::int64_t position_rows = 0;  ///< rows of the learned table; 0 without one
  NormKind norm = NormKind::rms_norm;
  MlpKind mlp = MlpKind::swiglu;
  PositionKind positions = PositionKind::rotary;
  bool biases = false;           ///< in linear layers and layer norms
  bool tied_embeddings = false;  ///< the head uses the embedding's table
  bool qk_norm = false;          ///< RMS norm over each head of q and k
  bool fused_qkv = false;        ///< one linear layer for q, k and v
  bool complex_rotary = false;   ///< rotary positions as a product of complex numbers
  bool dropout = false;          ///< after attention and after the feed-forward network

  /// Width of q and of the attention's output.
  std::int64_t attention_width() const { return heads * head_size; }
  /// Width of k, and of v.
  std::int64_t kv_width() const { return kv_heads * head_size; }
  bool operator==(const TransformerShape&) const = default;
};

}  // namespace shardsim::training

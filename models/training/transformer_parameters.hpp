// The parameter tensors of a transformer, in the order in which PyTorch modules register them.
//
// Linear weights are (outputs, inputs), as torch.nn.Linear stores them, so that dimension 0 is the
// one that FSDP2 shards. Module names follow the public implementations: `attention.wq.weight` for
// llama (torchtitan), `attn.c_attn.weight` for gpt (GPT-2), `attn.Wqkv.weight` for mpt
// (llm-foundry). A tied head has no tensor of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/training/transformer_shape.hpp"
#include "models/training/workload.hpp"

namespace shardsim::training {

/// Parameters of one block; names start at the block.
std::vector<ParameterShape> block_parameters(const TransformerShape& shape);
/// Parameters outside the blocks: embedding, positions, final norm, head.
std::vector<ParameterShape> root_parameters(const TransformerShape& shape);

/// All parameters of the model, each once.
std::int64_t parameter_count(const TransformerShape& shape);
std::int64_t element_count(const std::vector<ParameterShape>& parameters);

/// What a model's family calls its modules.
struct ModuleNames {
  std::string_view embedding, positions, final_norm, head;
  std::string_view norm1, norm2;
  std::string_view qkv, q, k, v, attention_output, q_norm, k_norm;
  std::string_view up, gate, down;
  std::string_view attention, layers;
};
const ModuleNames& module_names(ModelFamily family);

}  // namespace shardsim::training

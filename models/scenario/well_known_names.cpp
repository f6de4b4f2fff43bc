#include "models/scenario/well_known_names.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

namespace shardsim::scenario {

using simcore::ConfigNode;

namespace {

struct WellKnownName {
  std::string_view section;
  std::string_view key;
  std::string_view theirs;  ///< in small letters, without '-' and '_'
  std::string_view ours;
  std::string_view besides{};  ///< what else to write; empty: nothing
};

// PyTorch's ShardingStrategy and FSDP2's ways to call fully_shard; DeepSpeed's stages; Lightning's
// and torchtitan's names of strategies; Hugging Face's names of types and attention.
constexpr std::array names{
    WellKnownName{"training", "sharding", "hsdp", "hybrid_shard"},
    WellKnownName{"training", "sharding", "hybrid", "hybrid_shard"},
    WellKnownName{"training", "sharding", "hybridfull", "hybrid_shard"},
    WellKnownName{"training", "sharding", "fsdp", "full_shard"},
    WellKnownName{"training", "sharding", "fsdp1", "full_shard"},
    WellKnownName{"training", "sharding", "fsdp2", "full_shard"},
    WellKnownName{"training", "sharding", "full", "full_shard"},
    WellKnownName{"training", "sharding", "zero3", "full_shard"},
    WellKnownName{"training", "sharding", "zero2", "shard_grad_op"},
    WellKnownName{"training", "sharding", "sdp", "shard_grad_op"},
    WellKnownName{"training", "sharding", "ddp", "no_shard"},
    WellKnownName{"training", "sharding", "none", "no_shard"},
    WellKnownName{"training", "strategy", "hsdp", "fsdp2", "training.sharding=hybrid_shard"},
    WellKnownName{"training", "strategy", "fullyshard", "fsdp2"},
    WellKnownName{"training", "strategy", "fullshard", "fsdp2"},
    WellKnownName{"training", "strategy", "fullyshardeddataparallel", "fsdp1"},
    WellKnownName{"training", "strategy", "distributeddataparallel", "ddp"},
    WellKnownName{"training", "strategy", "deepspeed", "zero3"},
    WellKnownName{"training", "strategy", "zero", "zero3"},
    WellKnownName{"training", "strategy", "zeroredundancyoptimizer", "zero1"},
    WellKnownName{"workload", "precision", "bfloat16", "bf16"},
    WellKnownName{"workload", "precision", "half", "fp16"},
    WellKnownName{"workload", "precision", "float16", "fp16"},
    WellKnownName{"workload", "precision", "float", "fp32"},
    WellKnownName{"workload", "precision", "float32", "fp32"},
    WellKnownName{"workload", "precision", "float8", "fp8"},
    WellKnownName{"workload", "attention", "sdpa", "flash"},
    WellKnownName{"workload", "attention", "flashattention", "flash"},
    WellKnownName{"workload", "attention", "flashattention2", "flash"},
    WellKnownName{"workload", "attention", "flashattention3", "flash_3"},
    WellKnownName{"workload", "attention", "eager", "math"},
    WellKnownName{"workload", "activation_checkpointing", "true", "full"},
    WellKnownName{"workload", "activation_checkpointing", "false", "none"},
    WellKnownName{"workload", "activation_checkpointing", "off", "none"},
    WellKnownName{"workload", "activation_checkpointing", "sac", "selective"},
};

/// A key of another tool: what it is here, or why there is none.
struct WellKnownKey {
  std::string_view theirs;  ///< as WellKnownName::theirs
  std::string_view ours;    ///< dotted; empty: none
  std::string_view why{};   ///< there is none
};

constexpr std::string_view no_tensor =
    "tensor parallelism is not simulated: expected data parallelism, which training.strategy names";
constexpr std::string_view no_pipeline =
    "pipeline parallelism is not simulated: expected data parallelism, which training.strategy "
    "names";
constexpr std::string_view no_context =
    "context parallelism is not simulated: expected data parallelism, which training.strategy "
    "names";
constexpr std::string_view no_expert =
    "expert parallelism is not simulated: expected data parallelism, which training.strategy names";

// torchtitan's, Megatron's, DeepSpeed's and Hugging Face's names. None is a key of a scenario.
constexpr std::array keys{
    WellKnownKey{"tensorparallel", "", no_tensor},
    WellKnownKey{"tensorparallelsize", "", no_tensor},
    WellKnownKey{"tensorparalleldegree", "", no_tensor},
    WellKnownKey{"tensormodelparallelsize", "", no_tensor},
    WellKnownKey{"tp", "", no_tensor},
    WellKnownKey{"tpsize", "", no_tensor},
    WellKnownKey{"pipelineparallel", "", no_pipeline},
    WellKnownKey{"pipelineparallelsize", "", no_pipeline},
    WellKnownKey{"pipelineparalleldegree", "", no_pipeline},
    WellKnownKey{"pipelinemodelparallelsize", "", no_pipeline},
    WellKnownKey{"pp", "", no_pipeline},
    WellKnownKey{"ppsize", "", no_pipeline},
    WellKnownKey{"contextparallel", "", no_context},
    WellKnownKey{"contextparallelsize", "", no_context},
    WellKnownKey{"contextparalleldegree", "", no_context},
    WellKnownKey{"sequenceparallel", "", no_context},
    WellKnownKey{"cp", "", no_context},
    WellKnownKey{"cpsize", "", no_context},
    WellKnownKey{"expertparallel", "", no_expert},
    WellKnownKey{"expertparallelsize", "", no_expert},
    WellKnownKey{"expertparalleldegree", "", no_expert},
    WellKnownKey{"expertmodelparallelsize", "", no_expert},
    WellKnownKey{"ep", "", no_expert},
    WellKnownKey{"epsize", "", no_expert},
    WellKnownKey{"batchsize", "workload.micro_batch_size"},
    WellKnownKey{"localbatchsize", "workload.micro_batch_size"},
    WellKnownKey{"perdevicetrainbatchsize", "workload.micro_batch_size"},
    WellKnownKey{"trainmicrobatchsizepergpu", "workload.micro_batch_size"},
    WellKnownKey{"gradientaccumulationsteps", "workload.gradient_accumulation"},
    WellKnownKey{"gradaccum", "workload.gradient_accumulation"},
    WellKnownKey{"accumulategradbatches", "workload.gradient_accumulation"},
    WellKnownKey{"seqlen", "workload.sequence_length"},
    WellKnownKey{"maxseqlen", "workload.sequence_length"},
    WellKnownKey{"maxseqlength", "workload.sequence_length"},
    WellKnownKey{"contextlength", "workload.sequence_length"},
    WellKnownKey{"mixedprecision", "workload.precision"},
    WellKnownKey{"dtype", "workload.precision"},
    WellKnownKey{"gradientcheckpointing", "workload.activation_checkpointing"},
    WellKnownKey{"recompute", "workload.activation_checkpointing"},
    WellKnownKey{"numnodes", "cluster.nodes"},
    WellKnownKey{"nnodes", "cluster.nodes"},
    WellKnownKey{"nprocpernode", "cluster.gpus_per_node"},
    WellKnownKey{"shardingstrategy", "training.sharding"},
    WellKnownKey{"maxgradnorm", "training.gradient_clipping"},
};

/// Small letters alone, so that "ZeRO-3" and "zero_3" are one word.
std::string plain(std::string_view text) {
  std::string word;
  for (const char c : text) {
    if (c == '-' || c == '_' || c == ' ') continue;
    word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return word;
}

ConfigNode* value_of(ConfigNode& scenario, std::string_view section, std::string_view key) {
  ConfigNode* map = scenario.find(section);
  return map == nullptr ? nullptr : map->find(key);
}

void check_topology(ConfigNode& scenario, simcore::Diagnostics& diagnostics) {
  ConfigNode* topology = value_of(scenario, "cluster", "topology");
  if (topology == nullptr || !topology->is_map()) return;
  diagnostics.error(
      topology->where(),
      "cluster.topology: expected the name of a topology or the path of a file, found "
      "a map: write the map into a file of its own, e.g. mine.yaml with 'name: mine', "
      "'extends: dgx-h100' and a 'fabric:', and give ./mine.yaml; docs/fabrics.md "
      "shows how");
  *topology = ConfigNode::make_invalid(topology->where());
}

/// Reports the map's keys that are another tool's, and takes them out.
void check_keys(ConfigNode* map, simcore::Diagnostics& diagnostics) {
  if (map == nullptr) return;
  std::erase_if(map->entries(), [&](const simcore::ConfigEntry& entry) {
    const auto known = std::ranges::find(keys, plain(entry.key), &WellKnownKey::theirs);
    if (known == keys.end()) return false;
    if (known->ours.empty()) {
      diagnostics.error(entry.where, std::string(known->why));
    } else {
      diagnostics.error(
          entry.where,
          fmt::format("what is known as {} is {} here", simcore::quote(entry.key), known->ours),
          std::string(known->ours));
    }
    return true;
  });
}

}  // namespace

void translate_well_known_names(ConfigNode& scenario, simcore::Diagnostics& diagnostics) {
  check_topology(scenario, diagnostics);
  check_keys(&scenario, diagnostics);
  for (const char* section : {"cluster", "workload", "training"}) {
    check_keys(scenario.find(section), diagnostics);
  }
  for (const WellKnownName& one : names) {
    ConfigNode* value = value_of(scenario, one.section, one.key);
    if (value == nullptr || !value->is_scalar()) continue;
    if (plain(value->text()) != one.theirs) continue;
    const std::string besides =
        one.besides.empty() ? std::string() : fmt::format(" with {}", one.besides);
    diagnostics.error(value->where(),
                      fmt::format("{}.{}: what is known as {} is {}{} here", one.section, one.key,
                                  simcore::quote(value->text()), one.ours, besides),
                      std::string(one.ours));
    *value = ConfigNode::make_invalid(value->where());
  }
}

}  // namespace shardsim::scenario

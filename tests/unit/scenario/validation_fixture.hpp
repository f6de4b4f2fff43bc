// Tables of training runs made up for tests: every column that a table must have, filled from a
// few.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "models/scenario/validation/mapping_rules.hpp"
#include "models/scenario/validation/training_table.hpp"

namespace shardsim::scenario::testing {

using Cells = std::map<std::string, std::string>;

/// A run that the shipped rules can map: a small Llama on one DGX H100.
inline Cells complete_run() {
  return {{"row_id", "run-1"},
          {"source_id", "somewhere"},
          {"trust", "A"},
          {"task", "pretrain"},
          {"status", "ok"},
          {"framework", "FSDP2 (torchtitan)"},
          {"gpu", "H100-80GB"},
          {"gpus", "8"},
          {"gpus_per_node", "8"},
          {"model", "Llama-2-7B"},
          {"layers", "2"},
          {"hidden", "1024"},
          {"heads", "8"},
          {"kv_heads", "8"},
          {"ffn_hidden", "2816"},
          {"vocab", "32000"},
          {"seq_len", "2048"},
          {"micro_batch", "2"},
          {"grad_accum", "1"},
          {"precision", "bf16"},
          {"sharding", "FULL_SHARD"},
          {"act_ckpt", "none"},
          {"compile", "no"},
          {"step_time_s", "0.1"},
          {"sim_ready", "Y"}};
}

inline Cells with(Cells cells, const Cells& changes) {
  for (const auto& [column, text] : changes) cells[column] = text;
  return cells;
}

inline std::string csv_of(const std::vector<Cells>& rows) {
  const std::vector<std::string> columns{"row_id",
                                         "source_id",
                                         "trust",
                                         "task",
                                         "status",
                                         "framework",
                                         "gpu",
                                         "gpus",
                                         "gpus_per_node",
                                         "internode_net",
                                         "model",
                                         "layers",
                                         "hidden",
                                         "heads",
                                         "kv_heads",
                                         "ffn_hidden",
                                         "vocab",
                                         "seq_len",
                                         "micro_batch",
                                         "grad_accum",
                                         "precision",
                                         "sharding",
                                         "act_ckpt",
                                         "tp",
                                         "pp",
                                         "cp",
                                         "ep",
                                         "compile",
                                         "attn_kernel",
                                         "step_time_s",
                                         "tokens_per_s_per_gpu",
                                         "peak_memory_GiB",
                                         "peak_memory_kind",
                                         "sim_ready",
                                         "notes"};
  std::string text;
  for (const std::string& column : columns) text += (text.empty() ? "" : ",") + column;
  for (const Cells& row : rows) {
    text += '\n';
    for (const std::string& column : columns) {
      const auto cell = row.find(column);
      if (column != columns.front()) text += ',';
      text += cell == row.end() ? "" : '"' + cell->second + '"';
    }
  }
  return text + '\n';
}

inline std::shared_ptr<const simcore::SourceText> source_of(std::string text) {
  return std::make_shared<simcore::SourceText>(simcore::SourceText{"runs.csv", std::move(text)});
}

inline TrainingTable table_of(const std::vector<Cells>& rows) {
  simcore::Diagnostics diagnostics;
  auto table = TrainingTable::read(source_of(csv_of(rows)), diagnostics);
  REQUIRE_MESSAGE(table, simcore::to_text(diagnostics));
  return std::move(*table);
}

inline std::filesystem::path shipped(const char* name) {
  return std::filesystem::path(SHARDSIM_SOURCE_DIR) / name;
}

inline std::filesystem::path shipped_rules_file() {
  return shipped("validation/training_rules.yaml");
}

inline MappingRules shipped_rules() {
  simcore::Diagnostics diagnostics;
  auto rules = simcore::read_config_file<MappingRules>(shipped_rules_file(), diagnostics);
  REQUIRE_MESSAGE(rules, simcore::to_text(diagnostics));
  return std::move(*rules);
}

}  // namespace shardsim::scenario::testing

#include "cli/completion_words.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "cli/command_line.hpp"
#include "cli/json_schemas.hpp"
#include "models/network/topology_library.hpp"
#include "models/scenario/scenario_spec.hpp"
#include "models/scenario/sweep/metric.hpp"
#include "quiz/bank/question_bank.hpp"
#include "simcore/config/fields.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::cli {

namespace {

namespace fs = std::filesystem;
using simcore::TypeKind;
using simcore::TypeSchema;

/// The finite choices of a type; of several alternatives all of them.
std::vector<std::string> values_of(const TypeSchema& type) {
  if (type.kind == TypeKind::boolean) return {"true", "false"};
  if (type.kind == TypeKind::enumeration) return type.values;
  std::vector<std::string> all;
  if (type.kind != TypeKind::choice) return all;
  for (const TypeSchema& one : type.alternatives) {
    const std::vector<std::string> values = values_of(one);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

void add_keys(const TypeSchema& type, const std::string& prefix, CompletionWords& words) {
  for (const simcore::FieldSchema& field : type.fields) {
    const std::string key = prefix + field.key;
    if (field.type.kind == TypeKind::structure) {
      add_keys(field.type, key + ".", words);
      continue;
    }
    words.by_label[label::setting].push_back(key);
    std::vector<std::string> values = values_of(field.type);
    if (!values.empty()) words.values_of_key[key] = std::move(values);
  }
}

}  // namespace

std::vector<std::string> scenario_names(const fs::path& scenarios) {
  std::vector<std::string> names = simcore::file_stems(scenarios, ".yaml");
  for (const char* folder : {"pairs", "quiz"}) {
    for (const std::string& stem : simcore::file_stems(scenarios / folder, ".yaml")) {
      names.push_back(std::string(folder) + "/" + stem);
    }
  }
  return names;
}

std::expected<CompletionWords, std::string> completion_words(const DataSearch& search) {
  const auto folders = find_data_directory(search);
  if (!folders) return std::unexpected(folders.error());
  CompletionWords words;
  words.by_label[label::scenario] = scenario_names(folders->scenarios);
  words.by_label[label::topology] = network::available_topologies({folders->topologies});
  words.by_label[label::prices] = simcore::file_stems(folders->scenarios / "prices", ".yaml");
  words.by_label[label::schema] = schema_names();
  for (const scenario::Metric& one : scenario::metrics) {
    words.by_label[label::figure].push_back(one.name());
  }
  add_keys(simcore::schema_of<scenario::ScenarioSpec>(), "", words);
  words.by_label[label::axis] = words.by_label[label::setting];
  words.values_of_key["cluster.topology"] = words.by_label[label::topology];
  words.values_of_key["workload.model"] =
      simcore::file_stems(folders->scenarios / "models", ".yaml");
  if (const auto folder = find_data_folder(search, "validation")) {
    words.by_label[label::table] = simcore::file_stems(*folder / "examples", ".csv");
  }
  if (const auto folder = find_data_folder(search, "quiz")) {
    simcore::Diagnostics ignored;
    if (const auto bank = quiz::load_question_bank(*folder, ignored)) {
      for (const auto& one : bank->questions) {
        words.by_label[label::question].push_back(one.spec.id);
      }
      words.by_label[label::language] = bank->spec.languages;
    }
  }
  return words;
}

}  // namespace shardsim::cli

// The words that a shell may offer for a value, by the label of the value: names of shipped files,
// keys of scenarios, figures.
#pragma once

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "cli/data_directory.hpp"

namespace shardsim::cli {

struct CompletionWords {
  std::map<std::string, std::vector<std::string>> by_label;
  /// What can stand behind a key of a scenario, where that is a finite choice.
  std::map<std::string, std::vector<std::string>> values_of_key;
};

/// The error is one line: a data directory that is not there.
std::expected<CompletionWords, std::string> completion_words(const DataSearch& search);

/// Shipped scenarios by name, as `run` takes them: "fsdp2-llama-2-7b-4xdgx-h100",
/// "pairs/prefetch-on".
std::vector<std::string> scenario_names(const std::filesystem::path& scenarios);

}  // namespace shardsim::cli

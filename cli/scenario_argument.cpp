#include "cli/scenario_argument.hpp"

#include <system_error>

#include <fmt/format.h>

#include "cli/completion_words.hpp"
#include "simcore/diagnostics.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::cli {

namespace fs = std::filesystem;

std::expected<fs::path, std::string> find_scenario(const std::string& text,
                                                   const fs::path& scenarios) {
  std::error_code ignored;
  if (text.ends_with(".yaml") || text.ends_with(".yml") || fs::exists(text, ignored)) {
    return fs::path(text);
  }
  const std::vector<std::string> names = scenario_names(scenarios);
  for (const std::string& name : names) {
    if (name == text) return scenarios / (name + ".yaml");
  }
  const std::string near = simcore::nearest_name(text, names);
  return std::unexpected(
      fmt::format("there is no file and no shipped scenario {}{}", simcore::quote(text),
                  near.empty() ? fmt::format(": expected a YAML file, or one of the {} in {}",
                                             names.size(), scenarios.string())
                               : simcore::did_you_mean(near)));
}

}  // namespace shardsim::cli

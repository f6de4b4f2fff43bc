// `--set`: changes of a shipped scenario, a line each, and the scenario that they make.
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/small_run.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

void set_keys(std::string_view input) {
  const auto file = source_folder() / "scenarios" / "textbook-fsdp2.yaml";
  std::vector<std::string> changes;
  for (const std::string_view line : lines_of(input, 8)) changes.emplace_back(line);
  simcore::Diagnostics diagnostics;
  auto loaded = scenario::load_scenario(file, changes, diagnostics);
  check_messages(!loaded, diagnostics);
  if (loaded) build_and_run(std::move(*loaded), diagnostics);
}

}  // namespace shardsim::fuzz

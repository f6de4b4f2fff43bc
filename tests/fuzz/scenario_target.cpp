// A scenario file: read, built and, where it is small, run.
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/small_run.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

void run_scenario(std::string_view input) {
  const auto file = source_folder() / "scenarios" / "input.yaml";
  set_memory_file(file, input);
  simcore::Diagnostics diagnostics;
  auto loaded = scenario::load_scenario(file, {}, diagnostics);
  check_messages(!loaded, diagnostics);
  if (loaded) build_and_run(std::move(*loaded), diagnostics);
}

}  // namespace shardsim::fuzz

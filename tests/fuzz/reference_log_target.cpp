// Logs of reference kernels: the work file (JSON), "=====", the log (CSV); compared with the
// simulator where few ranks take part.
#include <algorithm>

#include "models/scenario/chunk_work_file.hpp"
#include "models/scenario/validation/reference_validation.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

void compare_reference(std::string_view input) {
  const auto parts = parts_of(input, 2);
  constexpr const char* file = "/input/work.json";
  set_memory_file(file, parts[0]);
  simcore::Diagnostics diagnostics;
  auto setup = scenario::read_chunk_work_setup(file, diagnostics);
  check_messages(!setup, diagnostics);
  if (!setup) return;
  const scenario::ChunkWorkSetup copy = *setup;
  auto log = scenario::ReferenceLog::read(source_of(parts[1]), std::move(*setup), diagnostics);
  check_messages(!log, diagnostics);
  if (!log || copy.cluster.nodes > 2 || copy.cluster.gpus_per_node.value_or(8) > 8) return;
  const bool large =
      std::ranges::any_of(log->sizes, [](const std::string& size) { return size.size() > 7; });
  if (large) return;
  const auto report = scenario::validate_references({*log}, shipped_data(), diagnostics);
  check_messages(!report, diagnostics);
  if (report) scenario::to_text(report->sequences);
}

}  // namespace shardsim::fuzz

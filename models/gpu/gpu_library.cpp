// Finding a GPU by name among the specification files.
#include <algorithm>

#include "models/gpu/gpu_spec.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::gpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".yaml";

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(extension);
}

std::vector<std::string> known_names(const std::vector<fs::path>& search_path) {
  std::vector<std::string> names;
  for (const fs::path& folder : search_path) {
    const std::vector<std::string> found = simcore::file_stems(folder, extension);
    names.insert(names.end(), found.begin(), found.end());
  }
  std::ranges::sort(names);
  const auto repeated = std::ranges::unique(names);
  names.erase(repeated.begin(), repeated.end());
  return names;
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::optional<fs::path> find_file(std::string_view name, const std::vector<fs::path>& search_path) {
  for (const fs::path& folder : search_path) {
    fs::path candidate = folder / (std::string(name) + std::string(extension));
    if (simcore::is_text_file(candidate)) return candidate;
  }
  return std::nullopt;
}

void report_unknown(std::string_view name, const std::vector<fs::path>& search_path,
                    simcore::Diagnostics& diagnostics, const simcore::SourceLocation& where) {
  const std::vector<std::string> known = known_names(search_path);
  std::string message = "no GPU is called '" + std::string(name) + "'; ";
  message += known.empty() ? "no specifications were found" : "known are " + joined(known);
  diagnostics.error(where, std::move(message), simcore::nearest_spelling(name, known));
}

}  // namespace

std::optional<GpuSpec> load_gpu(std::string_view name_or_path,
                                const std::vector<fs::path>& search_path,
                                simcore::Diagnostics& diagnostics,
                                const simcore::SourceLocation& where) {
  if (is_path(name_or_path)) {
    return simcore::read_config_file<GpuSpec>(fs::path(name_or_path), diagnostics);
  }
  const std::optional<fs::path> file = find_file(name_or_path, search_path);
  if (!file) {
    report_unknown(name_or_path, search_path, diagnostics, where);
    return std::nullopt;
  }
  return simcore::read_config_file<GpuSpec>(*file, diagnostics);
}

}  // namespace shardsim::gpu

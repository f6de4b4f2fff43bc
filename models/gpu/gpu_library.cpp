// Finding a GPU by name among the specification files.
#include <algorithm>
#include <system_error>

#include "models/gpu/gpu_spec.hpp"

namespace shardsim::gpu {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view extension = ".yaml";

bool is_path(std::string_view text) {
  return text.find('/') != std::string_view::npos || text.ends_with(extension);
}

/// Names that `folder` offers; none if it cannot be read.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const fs::path& path = entry->path();
    if (path.extension() == extension) names.push_back(path.stem().string());
  }
  return names;
}

std::vector<std::string> known_names(const std::vector<fs::path>& search_path) {
  std::vector<std::string> names;
  for (const fs::path& folder : search_path) {
    const std::vector<std::string> found = names_in(folder);
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
    const fs::path candidate = folder / (std::string(name) + std::string(extension));
    std::error_code error;
    if (fs::is_regular_file(candidate, error)) return candidate;
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

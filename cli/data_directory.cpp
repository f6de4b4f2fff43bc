#include "cli/data_directory.hpp"

#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>

namespace shardsim::cli {
namespace {

namespace fs = std::filesystem;

struct Candidate {
  fs::path root;
  std::string_view origin;
};

std::optional<Candidate> chosen_by(const DataSearch& search) {
  if (search.option) return Candidate{*search.option, "--data"};
  if (search.environment) return Candidate{*search.environment, "SHARDSIM_DATA"};
  if (search.executable.empty()) return std::nullopt;
  const fs::path prefix = search.executable.parent_path().parent_path();
  return Candidate{prefix / "share" / "shardsim", "beside the executable"};
}

std::expected<fs::path, std::string> subfolder(const Candidate& candidate, const char* name) {
  const fs::path path = candidate.root / name;
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    return std::unexpected(
        fmt::format("no folder '{}' in the data directory '{}' ({}); name another with --data DIR",
                    name, candidate.root.string(), candidate.origin));
  }
  fs::path resolved = fs::canonical(path, error);
  if (error) {
    return std::unexpected(fmt::format("cannot open '{}': {}", path.string(), error.message()));
  }
  return resolved;
}

}  // namespace

DataSearch current_data_search(std::optional<fs::path> option) {
  DataSearch search;
  search.option = std::move(option);
  const char* variable = std::getenv("SHARDSIM_DATA");
  if (variable != nullptr && *variable != '\0') search.environment = variable;
  std::error_code error;
  search.executable = fs::read_symlink("/proc/self/exe", error);
  return search;
}

std::expected<fs::path, std::string> find_data_folder(const DataSearch& search, const char* name) {
  const std::optional<Candidate> candidate = chosen_by(search);
  if (!candidate) {
    return std::unexpected("cannot tell where this executable is; name its data with --data DIR");
  }
  return subfolder(*candidate, name);
}

std::expected<DataDirectory, std::string> find_data_directory(const DataSearch& search) {
  auto topologies = find_data_folder(search, "topologies");
  if (!topologies) return std::unexpected(std::move(topologies.error()));
  auto scenarios = find_data_folder(search, "scenarios");
  if (!scenarios) return std::unexpected(std::move(scenarios.error()));
  return DataDirectory{std::move(*topologies), std::move(*scenarios)};
}

}  // namespace shardsim::cli

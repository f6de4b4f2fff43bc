// Where the program finds the topologies and scenarios that come with it.
//
// The first of these that is given decides; there is no fallback from one to the next, so that a
// mistyped folder is an error and not a silent use of other data:
//   1. `--data DIR`
//   2. the environment variable SHARDSIM_DATA
//   3. ../share/shardsim, seen from the executable's own folder (installed and in a build tree)
#pragma once

#include <expected>
#include <filesystem>
#include <optional>
#include <string>

namespace shardsim::cli {

/// Absolute paths without symbolic links; both exist.
struct DataDirectory {
  std::filesystem::path topologies;
  std::filesystem::path scenarios;
};

/// What decides where data is looked for.
struct DataSearch {
  std::optional<std::filesystem::path> option;       ///< `--data`
  std::optional<std::filesystem::path> environment;  ///< SHARDSIM_DATA, if set and not empty
  std::filesystem::path executable;                  ///< Resolved path; empty if unknown
};

/// The search of this process: reads SHARDSIM_DATA and the link /proc/self/exe (Linux).
DataSearch current_data_search(std::optional<std::filesystem::path> option);

/// The error is one line that names the folder, what is missing in it, and how to name another.
std::expected<DataDirectory, std::string> find_data_directory(const DataSearch& search);

/// Another folder of the data directory, e.g. "validation", which not every command needs.
std::expected<std::filesystem::path, std::string> find_data_folder(const DataSearch& search,
                                                                   const char* name);

}  // namespace shardsim::cli

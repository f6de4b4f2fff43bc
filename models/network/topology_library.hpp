// Where topologies come from: YAML files found by name or path.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/topology_spec.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::network {

struct Topology {
  TopologySpec spec;
  std::filesystem::path file;
  simcore::SourceLocation gpu_where;  ///< where the GPU is named
};

/// The topology called `name_or_path`: a path if it holds a '/' or ends in ".yaml", else the file
/// NAME.yaml in the first folder of `search_path` that has it. A file that `extends` another takes
/// over the keys that it does not give itself (null drops one); found beside it or in that path.
/// Unknown names (with the nearest one), unreadable files and every error in them go to
/// `diagnostics`, the name at `where`; then the result is empty.
std::optional<Topology> load_topology(std::string_view name_or_path,
                                      const std::vector<std::filesystem::path>& search_path,
                                      simcore::Diagnostics& diagnostics,
                                      const simcore::SourceLocation& where = {});

/// Names of the topologies in the folders, sorted, each once.
std::vector<std::string> available_topologies(
    const std::vector<std::filesystem::path>& search_path);

}  // namespace shardsim::network

// The part of `shardsim validate` that is about collectives.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "models/scenario/experiment.hpp"
#include "models/scenario/validation/validation_report.hpp"

namespace shardsim::cli {

struct CollectiveFiles {
  std::string points;  ///< CSV
  std::string tables;  ///< CSV
  std::filesystem::path rules;
  network::SizeLimits sizes{};  ///< of a table's cluster
};

/// Nothing if something is wrong, which is then on standard error.
std::optional<scenario::ValidationReport> collectives_report(const CollectiveFiles& files,
                                                             const scenario::DataFolders& data);

}  // namespace shardsim::cli

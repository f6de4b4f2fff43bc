// NCCL's own decisions on described machines, and the inputs of the model that belong to them.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "models/nccl/choice.hpp"
#include "tests/unit/nccl/csv_rows.hpp"

namespace shardsim::nccl {

inline std::filesystem::path selector_data(std::string_view file) {
  return std::filesystem::path(SHARDSIM_SOURCE_DIR) / "tests/unit/nccl/data" / file;
}

Collective collective_named(std::string_view name);
Algorithm algorithm_named(std::string_view name);
Protocol protocol_named(std::string_view name);

/// Version, machine, nodes.
using SystemKey = std::tuple<std::string, std::string, int>;
SystemKey system_key(const CsvRows& rows, std::size_t row);

struct SystemInputs {
  TuningInputs inputs;
  int collective_channels = 0;  ///< as NCCL counted them
};

/// From machines.csv and graphs.csv.
std::map<SystemKey, SystemInputs> read_systems();

}  // namespace shardsim::nccl

// A published nccl-tests table as a cluster and a way to run, or why it cannot be one.
//
// Rules as data (`validation/collective_rules.yaml`) say what a kind of machine, network or launch
// is; counts and rates of NICs, the version and NCCL's variables stand in the table's own columns.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/scenario/collective_cluster.hpp"
#include "models/scenario/collective_run.hpp"
#include "models/scenario/validation/csv_table.hpp"
#include "models/scenario/validation/mapping_rules.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::scenario {

struct CollectiveRules {
  std::vector<MappingRule> rules;
  static void describe(simcore::Fields<CollectiveRules>& fields);
};

/// What a table's columns say, by name.
using TableFacts = std::map<std::string, std::string>;

struct CollectiveCase {
  ClusterRequest cluster;
  CollectiveSettings settings;
};

/// The error is one sentence.
std::expected<CollectiveCase, std::string> map_table(const TableFacts& facts,
                                                     const CollectiveRules& rules);

/// "8x400G IB": number of NICs and Gbit/s of each; nothing if the text does not say.
std::optional<std::pair<std::int64_t, std::int64_t>> nics_in(std::string_view text);

/// NCCL's variables among free text: "NCCL_ALGO=Ring (job script)".
std::map<std::string, std::string> variables_in(std::string_view text);

}  // namespace shardsim::scenario

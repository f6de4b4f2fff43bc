// Holds the time of collectives against published nccl-tests tables.
//
// Each table that the rules can write as a cluster is run size by size. Errors are grouped by
// number of nodes and size, by machine, and by site; "by table" groups hold one error for each
// table, its median.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "models/scenario/validation/collective_mapping.hpp"
#include "models/scenario/validation/validation_report.hpp"

namespace shardsim::scenario {

inline constexpr std::string_view collective_time = "time_us";

/// The points, and what the tables are; both checked.
struct CollectiveTables {
  CsvTable points;  ///< table, bytes, time_us
  CsvTable tables;  ///< table, site, gpu, gpus_per_node, nodes, ..., collective, dtype

  /// Nothing if `diagnostics` received an error: a bad file, missing columns, cells that are no
  /// numbers, tables that are there twice or not at all.
  static std::optional<CollectiveTables> read(std::shared_ptr<const simcore::SourceText> points,
                                              std::shared_ptr<const simcore::SourceText> tables,
                                              simcore::Diagnostics& diagnostics);
};

struct CollectivesValidation {
  CollectiveRules rules;
  DataFolders data;
  network::SizeLimits sizes{};
  /// Told of the share of tables that are done, 0..1.
  std::function<void(double)> progress;
};

ValidationReport validate_collectives(const CollectiveTables& tables,
                                      const CollectivesValidation& options);

}  // namespace shardsim::scenario

// Holds fidelity `chunk` against logs of real kernels that carry out the same works.
//
// A log is a chunk trace (docs/chunk-trace.md) whose times were measured. Its rows must be those of
// the simulator's trace, one by one and in the same order, times aside. The time of an operation is
// that from the first start to the last end of its rows, in both.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "models/scenario/chunk_work_file.hpp"
#include "models/scenario/validation/csv_table.hpp"
#include "models/scenario/validation/validation_report.hpp"

namespace shardsim::scenario {

/// A log, and the set-up of the work file from which it was made.
struct ReferenceLog {
  std::string name;
  ChunkWorkSetup setup;
  CsvTable rows;
  std::set<std::string> sizes;  ///< of which there are rows

  /// Nothing if `diagnostics` received an error: other columns than a chunk trace's, cells that are
  /// no numbers, times that run backwards, rows of a size that do not stand together.
  static std::optional<ReferenceLog> read(std::shared_ptr<const simcore::SourceText> log,
                                          ChunkWorkSetup setup, simcore::Diagnostics& diagnostics);
};

/// How the rows of a log compare.
struct ReferenceSequence {
  std::string log;
  std::size_t sizes = 0;
  std::size_t rows = 0;
  std::string difference;  ///< the first; empty: there is none
};

struct ReferenceReport {
  ValidationReport times;  ///< a row for each size of each log; a size that differs has no forecast
  std::vector<ReferenceSequence> sequences;

  bool all_equal() const;
};

/// Nothing if `diagnostics` received an error: a cluster that cannot be had.
std::optional<ReferenceReport> validate_references(const std::vector<ReferenceLog>& logs,
                                                   const DataFolders& data,
                                                   simcore::Diagnostics& diagnostics);

/// For people: a line for each log.
std::string to_text(const std::vector<ReferenceSequence>& sequences);

}  // namespace shardsim::scenario

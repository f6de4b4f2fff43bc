// Whether forecasts know which runs fit into memory.
//
// Two classes: runs of a table that their sources report as out of memory, and the scored runs of
// the table of training runs, which did fit. A forecast is right if it runs out of memory in the
// first and comes to its end in the second. Where a source leaves out what decides about memory
// (activation checkpointing, the compiler), every choice is tried; the row counts if all of them
// agree, and otherwise has no forecast and says why. One micro-batch is assumed where the source
// does not say how many there were.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/scenario/validation/training_validation.hpp"

namespace shardsim::scenario {

struct FitRow {
  std::string id;
  std::string source;
  bool measured = false;          ///< the run fitted
  std::optional<bool> predicted;  ///< the forecast fits; nothing without one
  bool mapped = false;
  std::string why_not;  ///< empty if there is a forecast
  std::string family;   ///< "FSDP", "DDP" or "ZeRO"; empty if it is not mapped
};

struct FitScore {
  std::string group;
  std::size_t fits = 0;  ///< runs with a forecast that did fit
  std::size_t fits_right = 0;
  std::size_t shortages = 0;  ///< with a forecast, reported out of memory
  std::size_t shortages_right = 0;
  double share_right() const;  ///< of both classes together
};

struct FitReport {
  std::vector<FitRow> rows;  ///< those that did not fit first; each in its table's order
  /// All rows, then each family, then each source.
  std::vector<FitScore> summary;
};

/// `training` is the report of the runs that did fit.
FitReport validate_fits(const TrainingTable& out_of_memory, const ValidationReport& training,
                        const TrainingValidation& options);

/// Scores of all rows, of each family and of each source, in the order in which they appear.
std::vector<FitScore> score_fits(const std::vector<FitRow>& rows);

std::string to_text(const FitReport& report);

}  // namespace shardsim::scenario

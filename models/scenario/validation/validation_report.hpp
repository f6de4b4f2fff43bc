// What came of holding forecasts against measurements: a line for each measured quantity, and
// errors by group.
//
// Error of a line: predicted / measured - 1. Of a group: the median and the 90th percentile (linear
// between ranks) of the absolute error, and the mean of the error as its bias.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/scenario/accuracy/residual_table.hpp"

namespace shardsim::scenario {

inline constexpr std::string_view step_time = "step_time_s";
inline constexpr std::string_view peak_memory = "peak_memory_bytes";

/// Groups of a lower level are listed before those of a higher one.
struct ValidationGroup {
  int level = 0;
  std::string name;
};

struct ValidationRow {
  std::string id;
  std::string_view quantity;
  std::optional<double> measured;
  std::optional<double> predicted;
  bool mapped = false;                  ///< the run could be written as a scenario
  std::string why_not;                  ///< why there is no forecast; empty if there is one
  bool scored = true;                   ///< false: listed, but left out of the groups
  std::vector<ValidationGroup> groups;  ///< that the line counts in, for its quantity
  std::optional<Residual> residual;     ///< of scored step times, where asked for
  std::string source;
  std::string family;        ///< "FSDP", "DDP" or "ZeRO"
  std::optional<bool> fits;  ///< whether the forecast has enough memory; nothing without one
  /// FSDP of trust A or B without tensor, pipeline and context parallelism, all of whose settings
  /// the table knows: a run that ought to have a forecast.
  bool ought_to_map = false;

  /// Nothing without both numbers.
  std::optional<double> relative_error() const;
};

struct GroupScore {
  std::string group;  ///< begins with the quantity: "step_time_s, FSDP1, trust A"
  std::size_t rows = 0;
  double median_abs_error = 0;
  double p90_abs_error = 0;
  double bias = 0;
};

struct ValidationReport {
  std::vector<ValidationRow> rows;  ///< in the table's order
  std::vector<GroupScore> summary;
};

/// Of sorted values, at least one; linear between the two nearest ranks. `share` 0..1.
double percentile(const std::vector<double>& sorted, double share);

/// Scores of one group from its errors, at least one.
GroupScore score(std::string group, const std::vector<double>& errors);

/// Scores of every group with a line that has an error: by quantity, then level, then the order in
/// which the groups first appear.
std::vector<GroupScore> score_groups(const std::vector<ValidationRow>& rows);

/// Residuals of the report's step times, in its order.
ResidualTable residuals(const ValidationReport& report);

/// As `validate --json` has it, ending with a newline.
std::string to_json(const ValidationReport& report);

/// Reasons why runs have no forecast and how many runs (not lines) they concern, most first.
std::vector<std::pair<std::string, std::size_t>> reasons(const ValidationReport& report);

/// Of the runs (not lines) that ought to have a forecast, how many there are and how many have one.
struct MappedShare {
  std::size_t runs = 0;
  std::size_t mapped = 0;
};
MappedShare mapped_share(const ValidationReport& report);

/// mapped_share in words; empty without such runs.
std::string to_text(const MappedShare& share);

/// For people: errors by group, then the reasons why runs have no forecast, most frequent first.
std::string to_text(const ValidationReport& report);

}  // namespace shardsim::scenario

#include "cli/points_status.hpp"

#include <string_view>

#include <fmt/format.h>

#include "models/scenario/sweep/sweep_row.hpp"

namespace shardsim::cli {

std::expected<PointsStatus, std::string> status_of_points(const SweepJournal& journal) {
  bool some_result = false;
  bool all_bad_values = true;
  std::string first;
  const auto read = journal.for_each([&](std::string_view line) {
    // Reading a line whole costs about as much as a small point's run.
    if (some_result) return;
    if (!line.contains("\"failed\":{")) {
      some_result = true;
      return;
    }
    const auto row = scenario::read_row(line);
    if (!row || row->failed.empty()) {
      some_result = true;
      return;
    }
    if (first.empty()) first = row->message;
    all_bad_values = all_bad_values && row->failed == "bad_value";
  });
  if (!read) return std::unexpected(read.error());
  if (some_result || journal.size() == 0) return PointsStatus{};
  const std::string which = journal.size() == 1
                                ? std::string("the only point has no result")
                                : fmt::format("none of {} points has a result", journal.size());
  return PointsStatus{
      all_bad_values ? 2 : 1,
      fmt::format("{}{}: {}", which, journal.size() == 1 ? "" : "; the first", first)};
}

}  // namespace shardsim::cli

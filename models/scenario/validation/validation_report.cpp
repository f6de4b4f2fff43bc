#include "models/scenario/validation/validation_report.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace shardsim::scenario {

std::optional<double> ValidationRow::relative_error() const {
  if (!measured || !predicted) return std::nullopt;
  return *predicted / *measured - 1;
}

double percentile(const std::vector<double>& sorted, double share) {
  const double rank = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (rank - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

GroupScore score(std::string group, const std::vector<double>& errors) {
  GroupScore made;
  made.group = std::move(group);
  made.rows = errors.size();
  std::vector<double> absolute;
  for (const double error : errors) {
    absolute.push_back(std::abs(error));
    made.bias += error;
  }
  made.bias /= static_cast<double>(errors.size());
  std::ranges::sort(absolute);
  made.median_abs_error = percentile(absolute, 0.5);
  made.p90_abs_error = percentile(absolute, 0.9);
  return made;
}

ResidualTable residuals(const ValidationReport& report) {
  ResidualTable table;
  for (const ValidationRow& row : report.rows) {
    if (row.residual) table.rows.push_back(*row.residual);
  }
  return table;
}

std::vector<GroupScore> score_groups(const std::vector<ValidationRow>& rows) {
  struct Group {
    std::string name;
    std::string_view quantity;
    int level = 0;
    std::vector<double> errors;
  };
  std::vector<Group> groups;
  std::map<std::string, std::size_t> places;
  for (const ValidationRow& row : rows) {
    const auto error = row.relative_error();
    if (!error || !row.scored) continue;
    for (const ValidationGroup& one : row.groups) {
      std::string name = fmt::format("{}, {}", row.quantity, one.name);
      const auto [place, is_new] = places.try_emplace(name, groups.size());
      if (is_new) groups.push_back({std::move(name), row.quantity, one.level, {}});
      groups[place->second].errors.push_back(*error);
    }
  }
  std::ranges::stable_sort(groups, [](const Group& a, const Group& b) {
    return a.quantity != b.quantity ? a.quantity > b.quantity : a.level < b.level;
  });
  std::vector<GroupScore> scores;
  for (Group& group : groups) scores.push_back(score(std::move(group.name), group.errors));
  return scores;
}

std::vector<std::pair<std::string, std::size_t>> reasons(const ValidationReport& report) {
  std::map<std::string, std::set<std::string>> runs;
  for (const ValidationRow& row : report.rows) {
    if (!row.why_not.empty()) runs[row.why_not].insert(row.id);
  }
  std::vector<std::pair<std::string, std::size_t>> counted;
  for (const auto& [reason, ids] : runs) counted.emplace_back(reason, ids.size());
  std::ranges::stable_sort(counted, std::greater{}, &std::pair<std::string, std::size_t>::second);
  return counted;
}

MappedShare mapped_share(const ValidationReport& report) {
  std::map<std::string, bool> runs;
  for (const ValidationRow& row : report.rows) {
    if (row.ought_to_map) runs[row.id] |= row.mapped;
  }
  MappedShare share{.runs = runs.size()};
  for (const auto& [id, mapped] : runs) share.mapped += mapped ? 1 : 0;
  return share;
}

std::string to_text(const MappedShare& share) {
  if (share.runs == 0) return {};
  return fmt::format(
      "{} of {} FSDP runs (trust A and B; no tensor, pipeline or context parallelism; all settings "
      "known) can be written as scenarios: {:.1f} %",
      share.mapped, share.runs,
      100 * static_cast<double>(share.mapped) / static_cast<double>(share.runs));
}

std::string to_text(const ValidationReport& report) {
  std::string text;
  std::size_t width = 20;
  for (const GroupScore& one : report.summary) width = std::max(width, one.group.size());
  text += fmt::format("{:<{}} {:>5} {:>9} {:>9} {:>9}\n", "absolute error of forecasts", width,
                      "rows", "median", "p90", "bias");
  for (const GroupScore& one : report.summary) {
    text +=
        fmt::format("{:<{}} {:>5} {:>7.1f} % {:>7.1f} % {:>+7.1f} %\n", one.group, width, one.rows,
                    one.median_abs_error * 100, one.p90_abs_error * 100, one.bias * 100);
  }
  if (const std::string share = to_text(mapped_share(report)); !share.empty()) {
    text += "\n" + share + "\n";
  }
  const auto counted = reasons(report);
  if (counted.empty()) return text;
  text += "\nruns without a forecast\n";
  for (const auto& [reason, count] : counted) text += fmt::format("{:>6}  {}\n", count, reason);
  return text;
}

}  // namespace shardsim::scenario

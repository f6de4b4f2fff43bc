#include "models/scenario/validation/scaling_validation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardsim::scenario {

namespace {

constexpr auto needed = std::to_array<std::string_view>(
    {"row_id", "source_id", "framework", "model", "gpu", "gpus", "throughput_per_gpu"});
/// Columns in which the rows of one curve differ.
constexpr auto of_the_row = std::to_array<std::string_view>(
    {"row_id", "gpus", "throughput_per_gpu", "efficiency_vs_smallest"});

class Curves {
 public:
  Curves(const CsvTable& table, simcore::Diagnostics& diagnostics)
      : table_(table), diagnostics_(diagnostics) {}

  bool read() {
    for (std::size_t row = 0; row < table_.rows(); ++row) {
      const double gpus = number(row, "gpus");
      throughput_.push_back(number(row, "throughput_per_gpu"));
      gpus_.push_back(static_cast<std::int64_t>(gpus));
      keys_.push_back(key(row));
      const auto [smallest, is_new] = smallest_.try_emplace(keys_.back(), row);
      if (!is_new && gpus_[row] < gpus_[smallest->second]) smallest->second = row;
    }
    return !failed_;
  }

  ScalingRow row(std::size_t row, const std::map<std::string, const ValidationRow*>& runs) const {
    const std::size_t base = smallest_.at(keys_[row]);
    ScalingRow made;
    made.id = text(row, "row_id");
    made.source = text(row, "source_id");
    made.curve = fmt::format("{}, {}, {}, {}", made.source, text(row, "framework"),
                             text(row, "model"), text(row, "gpu"));
    made.gpus = gpus_[row];
    made.smallest_gpus = gpus_[base];
    made.measured = throughput_[row] / throughput_[base];
    const auto own = step(text(row, "row_id"), runs, made.why_not);
    const auto first = step(text(base, "row_id"), runs, made.why_not);
    if (own && first) made.predicted = *first / *own;
    return made;
  }

 private:
  const std::string& text(std::size_t row, std::string_view column) const {
    return table_.text(row, *table_.column(column));
  }

  double number(std::size_t row, std::string_view column) {
    const std::string& cell = text(row, column);
    double value = 0;
    const auto result = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    const bool whole = result.ec == std::errc{} && result.ptr == cell.data() + cell.size();
    if (whole && value > 0 && value < 1e15) return value;
    failed_ = true;
    diagnostics_.error(
        table_.where(row, *table_.column(column)),
        fmt::format("{}: expected a number above 0, found {}", column, simcore::quote(cell)));
    return 1;
  }

  std::string key(std::size_t row) const {
    std::string made;
    for (std::size_t column = 0; column < table_.columns().size(); ++column) {
      if (std::ranges::find(of_the_row, table_.columns()[column]) != of_the_row.end()) continue;
      made += table_.text(row, column);
      made += '\n';
    }
    return made;
  }

  static std::optional<double> step(const std::string& id,
                                    const std::map<std::string, const ValidationRow*>& runs,
                                    std::string& why_not) {
    const auto found = runs.find(id);
    if (found != runs.end() && found->second->predicted) return found->second->predicted;
    if (why_not.empty()) {
      why_not = found == runs.end() ? fmt::format("the table of training runs has no {}", id)
                                    : found->second->why_not;
    }
    return std::nullopt;
  }

  const CsvTable& table_;
  simcore::Diagnostics& diagnostics_;
  bool failed_ = false;
  std::vector<std::int64_t> gpus_;
  std::vector<double> throughput_;
  std::vector<std::string> keys_;
  std::map<std::string, std::size_t> smallest_;  ///< row of the fewest GPUs, by key
};

std::vector<ScalingScore> summarise_scaling(const std::vector<ScalingRow>& rows) {
  std::vector<std::pair<std::string, std::vector<double>>> groups{{"all", {}}};
  for (const ScalingRow& row : rows) {
    if (!row.predicted || row.is_smallest()) continue;
    const double points = (*row.predicted - row.measured) * 100;
    auto group = std::ranges::find(groups, row.source, &decltype(groups)::value_type::first);
    if (group == groups.end()) group = groups.insert(group, {row.source, {}});
    group->second.push_back(points);
    groups.front().second.push_back(points);
  }
  std::vector<ScalingScore> scores;
  for (auto& [name, points] : groups) {
    if (points.empty()) continue;
    const GroupScore one = score(name, points);
    scores.push_back({name, one.rows, one.median_abs_error, one.p90_abs_error, one.bias});
  }
  return scores;
}

}  // namespace

std::optional<ScalingReport> validate_scaling(std::shared_ptr<const simcore::SourceText> table,
                                              const ValidationReport& training,
                                              simcore::Diagnostics& diagnostics) {
  const auto cells = CsvTable::read(std::move(table), diagnostics);
  if (!cells) return std::nullopt;
  std::vector<std::string_view> missing;
  for (const std::string_view column : needed) {
    if (!cells->column(column)) missing.push_back(column);
  }
  if (!missing.empty()) {
    diagnostics.error(cells->whole(),
                      fmt::format("no table of scaling curves: missing column{} {}",
                                  missing.size() == 1 ? "" : "s", fmt::join(missing, ", ")));
    return std::nullopt;
  }
  Curves curves(*cells, diagnostics);
  if (!curves.read()) return std::nullopt;
  std::map<std::string, const ValidationRow*> runs;
  for (const ValidationRow& row : training.rows) {
    if (row.quantity == step_time) runs[row.id] = &row;
  }
  ScalingReport report;
  for (std::size_t row = 0; row < cells->rows(); ++row)
    report.rows.push_back(curves.row(row, runs));
  report.summary = summarise_scaling(report.rows);
  return report;
}

std::string to_text(const ScalingReport& report) {
  std::size_t width = 40;
  for (const ScalingRow& row : report.rows) {
    if (row.predicted) width = std::max(width, row.curve.size());
  }
  std::string text =
      fmt::format("{:<{}} {:>5} {:>9} {:>9} {:>9}\n", "weak-scaling efficiency, error in points",
                  width, "rows", "median", "p90", "bias");
  for (const ScalingScore& one : report.summary) {
    text += fmt::format("{:<{}} {:>5} {:>9.1f} {:>9.1f} {:>+9.1f}\n", one.group, width, one.rows,
                        one.median_abs_points, one.p90_abs_points, one.bias_points);
  }
  text += fmt::format("\n{:<{}} {:>5} {:>9} {:>9} {:>9}\n", "efficiency against the fewest GPUs",
                      width, "GPUs", "measured", "predicted", "points");
  std::size_t without = 0;
  for (const ScalingRow& row : report.rows) {
    without += row.predicted ? 0 : 1;
    if (!row.predicted || row.is_smallest()) continue;
    text += fmt::format("{:<{}} {:>5} {:>7.1f} % {:>7.1f} % {:>+9.1f}\n", row.curve, width,
                        row.gpus, row.measured * 100, *row.predicted * 100,
                        (*row.predicted - row.measured) * 100);
  }
  if (without > 0) text += fmt::format("{} rows without a forecast\n", without);
  return text;
}

}  // namespace shardsim::scenario

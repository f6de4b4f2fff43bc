#include "cli/measured_points.hpp"

#include <charconv>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "models/scenario/validation/csv_table.hpp"
#include "simcore/output/json_text.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::cli {

namespace {

struct Condition {
  std::string column;
  std::string value;
};

struct Selection {
  std::string file;
  std::vector<Condition> conditions;
};

/// FILE:COLUMN=VALUE,COLUMN=VALUE; a ':' without '=' behind it belongs to the file's name.
Selection parse_selection(const std::string& argument) {
  Selection made{argument, {}};
  const std::size_t colon = argument.find_last_of(':');
  if (colon == std::string::npos || argument.find('=', colon) == std::string::npos) return made;
  made.file = argument.substr(0, colon);
  std::size_t at = colon + 1;
  while (at <= argument.size()) {
    const std::size_t comma = std::min(argument.find(',', at), argument.size());
    const std::string item = argument.substr(at, comma - at);
    const std::size_t equals = item.find('=');
    made.conditions.push_back(
        {item.substr(0, equals), equals == std::string::npos ? "" : item.substr(equals + 1)});
    at = comma + 1;
  }
  return made;
}

std::optional<double> read_number(const std::string& text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto done = std::from_chars(text.data(), end, value);
  if (done.ec != std::errc{} || done.ptr != end) return std::nullopt;
  return value;
}

class PointReader {
 public:
  PointReader(const scenario::CsvTable& table, simcore::Diagnostics& diagnostics)
      : table_(table), diagnostics_(diagnostics) {}

  std::optional<std::size_t> needed(const std::string& column) {
    const auto found = table_.column(column);
    if (!found) {
      diagnostics_.error(table_.whole(), fmt::format("expected a column '{}'", column),
                         simcore::nearest_spelling(column, table_.columns()));
    }
    return found;
  }

  /// An error, with the nearest value, if no row has the condition's.
  void check_value(std::size_t column, const Condition& condition) {
    std::set<std::string> values;
    for (std::size_t row = 0; row < table_.rows(); ++row) values.insert(table_.text(row, column));
    if (values.contains(condition.value)) return;
    diagnostics_.error(table_.whole(),
                       fmt::format("no row has {} in column '{}'", simcore::quote(condition.value),
                                   condition.column),
                       simcore::nearest_spelling(condition.value, {values.begin(), values.end()}));
  }

  /// A number above 0, or nothing and an error.
  std::optional<double> number(std::size_t row, std::size_t column) {
    const auto value = read_number(table_.text(row, column));
    constexpr double below = 1e15;
    if (value && *value > 0 && *value < below) return value;
    diagnostics_.error(table_.where(row, column),
                       fmt::format("expected a number above 0 and below 1e15, found {}",
                                   simcore::quote(table_.text(row, column))));
    return std::nullopt;
  }

  /// A number of GPUs, or nothing and an error.
  std::optional<std::int64_t> gpus(std::size_t row, std::size_t column) {
    const std::string& text = table_.text(row, column);
    constexpr std::int64_t most = 1'000'000'000;
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto done = std::from_chars(text.data(), end, value);
    const bool whole = done.ec == std::errc{} && done.ptr == end && !text.starts_with('0');
    if (whole && value >= 1 && value <= most) return value;
    diagnostics_.error(table_.where(row, column),
                       fmt::format("expected a whole number of GPUs from 1 to {}, found {}", most,
                                   simcore::quote(text)));
    return std::nullopt;
  }

  std::string json(std::size_t row, std::int64_t gpus, double throughput) const {
    std::string out = "{\"gpus\":";
    simcore::append_json_number(out, gpus);
    out += ",\"tokens_per_s_per_gpu\":";
    simcore::append_json_number(out, throughput);
    add_number(out, "efficiency", row, "efficiency_vs_smallest");
    add_text(out, "id", row, "row_id");
    add_text(out, "source", row, "source_id");
    return out + "}";
  }

 private:
  void add_number(std::string& out, const char* key, std::size_t row, const char* column) const {
    const auto found = table_.column(column);
    const auto value = found ? read_number(table_.text(row, *found)) : std::nullopt;
    if (!value || !std::isfinite(*value)) return;
    out += fmt::format(",\"{}\":", key);
    simcore::append_json_number(out, *value);
  }

  void add_text(std::string& out, const char* key, std::size_t row, const char* column) const {
    const auto found = table_.column(column);
    if (!found) return;
    out += fmt::format(",\"{}\":", key);
    simcore::append_json_string(out, table_.text(row, *found));
  }

  const scenario::CsvTable& table_;
  simcore::Diagnostics& diagnostics_;
};

}  // namespace

bool MeasuredPoints::add(const std::string& argument, simcore::Diagnostics& diagnostics) {
  const Selection selection = parse_selection(argument);
  auto text = simcore::read_text_file(selection.file, scenario::max_csv_bytes);
  const auto source =
      std::make_shared<simcore::SourceText>(simcore::SourceText{selection.file, text.value_or("")});
  if (!text) {
    diagnostics.error({source, 0, 0}, text.error());
    return false;
  }
  text_ += argument + *text;
  const auto table = scenario::CsvTable::read(source, diagnostics);
  if (!table) return false;
  PointReader reader(*table, diagnostics);
  const auto gpus = reader.needed("gpus");
  const auto throughput = reader.needed("throughput_per_gpu");
  std::vector<std::size_t> columns;
  for (const Condition& one : selection.conditions) {
    if (const auto column = reader.needed(one.column)) columns.push_back(*column);
  }
  if (diagnostics.has_errors()) return false;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    reader.check_value(columns[i], selection.conditions[i]);
  }
  if (diagnostics.has_errors()) return false;
  for (std::size_t row = 0; row < table->rows(); ++row) {
    bool kept = true;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      kept &= table->text(row, columns[i]) == selection.conditions[i].value;
    }
    if (!kept) continue;
    const auto count = reader.gpus(row, *gpus);
    const auto speed = reader.number(row, *throughput);
    if (!count || !speed) return false;
    by_gpus_[*count].push_back(reader.json(row, *count, *speed));
  }
  return true;
}

std::optional<MeasuredPoints> MeasuredPoints::read(const std::vector<std::string>& arguments,
                                                   simcore::Diagnostics& diagnostics) {
  MeasuredPoints points;
  bool good = true;
  for (const std::string& argument : arguments) good &= points.add(argument, diagnostics);
  if (!good) return std::nullopt;
  return points;
}

std::string MeasuredPoints::json_for(int gpus) const {
  const auto found = by_gpus_.find(gpus);
  if (found == by_gpus_.end()) return {};
  std::string out = "[";
  for (const std::string& point : found->second) {
    if (out.size() > 1) out += ',';
    out += point;
  }
  return out + "]";
}

std::size_t MeasuredPoints::size() const {
  std::size_t count = 0;
  for (const auto& [gpus, points] : by_gpus_) count += points.size();
  return count;
}

std::string measured_file(const std::string& argument) { return parse_selection(argument).file; }

}  // namespace shardsim::cli

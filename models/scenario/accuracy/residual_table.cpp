#include "models/scenario/accuracy/residual_table.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace shardsim::scenario {

using simcore::Diagnostics;

namespace {

constexpr auto columns = std::to_array<std::string_view>(
    {"row_id", "source", "url", "family", "gpu", "generation", "model", "parameters", "gpus",
     "precision", "calibrated", "measured_over_predicted", "measured_over_uncalibrated",
     "rate_share", "exposed_share", "cpu_share"});

/// Of a row of a table that has all columns.
class Reader {
 public:
  Reader(const CsvTable& table, Diagnostics& diagnostics)
      : table_(table), diagnostics_(diagnostics) {}

  Residual read(std::size_t row) {
    row_ = row;
    Residual made;
    made.row_id = text("row_id");
    made.source = text("source");
    made.url = text("url");
    made.model = text("model");
    made.run = {text("family"), text("gpu"),       text("generation"),         count("parameters"),
                count("gpus"),  text("precision"), text("calibrated") == "yes"};
    made.measured_over_predicted = ratio("measured_over_predicted");
    made.measured_over_uncalibrated = ratio("measured_over_uncalibrated");
    made.rate_share = number<double>("rate_share", "a number between -1 and 2", -1, 2);
    made.run.exposed_share = share("exposed_share");
    made.run.cpu_share = share("cpu_share");
    return made;
  }

 private:
  const std::string& text(std::string_view column) const {
    return table_.text(row_, *table_.column(column));
  }

  template <class Number>
  Number number(std::string_view column, const char* expected, Number least, Number most) {
    const std::string& cell = text(column);
    Number value{};
    const char* end = cell.data() + cell.size();
    const auto result = std::from_chars(cell.data(), end, value);
    if (result.ec == std::errc{} && result.ptr == end && value >= least && value <= most) {
      return value;
    }
    diagnostics_.error(
        table_.where(row_, *table_.column(column)),
        fmt::format("{}: expected {}, found {}", column, expected, simcore::quote(cell)));
    return least;
  }

  std::int64_t count(std::string_view column) {
    return number<std::int64_t>(column, "a whole number above 0", 1, 1'000'000'000'000'000);
  }
  double ratio(std::string_view column) {
    return number<double>(column, "a ratio between 0.001 and 1000", 1e-3, 1e3);
  }
  double share(std::string_view column) {
    return number<double>(column, "a share between 0 and 1", 0, 1);
  }

  const CsvTable& table_;
  Diagnostics& diagnostics_;
  std::size_t row_ = 0;
};

/// A cell as RFC 4180 writes it.
std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + '"';
}

}  // namespace

std::optional<ResidualTable> ResidualTable::read(std::shared_ptr<const simcore::SourceText> source,
                                                 Diagnostics& diagnostics) {
  const auto cells = CsvTable::read(std::move(source), diagnostics);
  if (!cells) return std::nullopt;
  std::vector<std::string_view> missing;
  for (const std::string_view column : columns) {
    if (!cells->column(column)) missing.push_back(column);
  }
  if (!missing.empty()) {
    diagnostics.error(cells->whole(),
                      fmt::format("no table of residuals: missing column{} {}",
                                  missing.size() == 1 ? "" : "s", fmt::join(missing, ", ")));
    return std::nullopt;
  }
  const std::size_t errors = diagnostics.error_count();
  Reader reader(*cells, diagnostics);
  ResidualTable table;
  for (std::size_t row = 0; row < cells->rows(); ++row) table.rows.push_back(reader.read(row));
  if (diagnostics.error_count() != errors) return std::nullopt;
  return table;
}

std::string to_csv(const ResidualTable& table) {
  std::string text = fmt::format("{}\n", fmt::join(columns, ","));
  for (const Residual& row : table.rows) {
    text += fmt::format(
        "{},{},{},{},{},{},{},{},{},{},{},{:.6g},{:.6g},{:.4f},{:.4f},{:.4f}\n", cell(row.row_id),
        cell(row.source), cell(row.url), cell(row.run.family), cell(row.run.gpu),
        cell(row.run.generation), cell(row.model), row.run.parameters, row.run.gpus,
        cell(row.run.precision), row.run.calibrated ? "yes" : "no", row.measured_over_predicted,
        row.measured_over_uncalibrated, row.rate_share, row.run.exposed_share, row.run.cpu_share);
  }
  return text;
}

std::vector<double> group_weights(const std::vector<const Residual*>& rows) {
  const auto key = [](const Residual* row) {
    return std::tie(row->source, row->model, row->run.gpu);
  };
  std::map<std::tuple<std::string, std::string, std::string>, double> sizes;
  for (const Residual* row : rows) sizes[key(row)] += 1;
  std::vector<double> weights;
  for (const Residual* row : rows) {
    weights.push_back(1 / (sizes.at(key(row)) * static_cast<double>(sizes.size())));
  }
  return weights;
}

double weighted_quantile(const std::vector<double>& values, const std::vector<double>& weights,
                         double share) {
  assert(!values.empty() && values.size() == weights.size());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return values[i]; });
  double before = 0;       // weight of all values so far
  double last_middle = 0;  // where the previous value stands
  double last_value = values[order.front()];
  for (const std::size_t i : order) {
    const double middle = before + weights[i] / 2;
    if (share <= middle) {
      const double span = middle - last_middle;
      const double along = span > 0 ? (share - last_middle) / span : 1;
      return last_value + (values[i] - last_value) * along;
    }
    before += weights[i];
    last_middle = middle;
    last_value = values[i];
  }
  return last_value;
}

}  // namespace shardsim::scenario

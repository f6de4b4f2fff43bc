// Published training runs as a table: one row a run, with its configuration and what was measured.
//
// Columns that hold counts (gpus, layers, micro_batch, ...) and amounts (step_time_s, ...) are
// checked when the table is read: a cell is empty, where the source does not say, or a number above
// zero. `trust`, `status` and `sim_ready` hold one of few words. All other columns are text that
// the mapping rules interpret.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "models/scenario/validation/csv_table.hpp"

namespace shardsim::scenario {

class TrainingTable {
 public:
  /// Nothing if `diagnostics` received an error: a bad file, columns that are missing, cells that
  /// are no numbers, identifiers that are empty or there twice.
  static std::optional<TrainingTable> read(std::shared_ptr<const simcore::SourceText> source,
                                           simcore::Diagnostics& diagnostics);

  std::size_t rows() const { return table_.rows(); }
  bool has(std::string_view column) const { return table_.column(column).has_value(); }
  simcore::SourceLocation whole() const { return table_.whole(); }
  /// Of a column that exists.
  const std::string& text(std::size_t row, std::string_view column) const;

 private:
  explicit TrainingTable(CsvTable table) : table_(std::move(table)) {}
  void check(simcore::Diagnostics& diagnostics) const;

  CsvTable table_;
};

/// One row of a table that outlives it.
class TrainingRun {
 public:
  TrainingRun(const TrainingTable& table, std::size_t row) : table_(&table), row_(row) {}

  const std::string& text(std::string_view column) const { return table_->text(row_, column); }
  bool has(std::string_view column) const { return table_->has(column); }
  bool states(std::string_view column) const { return !text(column).empty(); }
  /// Of a column of counts; nothing if the source does not say.
  std::optional<std::int64_t> count(std::string_view column) const;
  /// Of a column of amounts; nothing if the source does not say.
  std::optional<double> amount(std::string_view column) const;

 private:
  const TrainingTable* table_;
  std::size_t row_;
};

}  // namespace shardsim::scenario

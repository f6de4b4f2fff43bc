// Published tables: comma-separated values with a header, as RFC 4180 has them.
//
// A cell in quotes may hold commas, line breaks and doubled quotes; lines end with LF or CR LF;
// empty lines are passed over. Refused, each with its place: rows with more or fewer cells than the
// header, columns of one name, quotes that do not close, text after a closing quote, files that are
// not UTF-8 text, empty, or larger than the limits below.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simcore/config/source_positions.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

inline constexpr std::size_t max_csv_bytes = std::size_t{64} << 20;
inline constexpr std::size_t max_csv_columns = 1000;
/// 40 bytes each in memory.
inline constexpr std::size_t max_csv_cells = 20'000'000;

class CsvTable {
 public:
  /// Nothing if `diagnostics` received an error.
  static std::optional<CsvTable> read(std::shared_ptr<const simcore::SourceText> source,
                                      simcore::Diagnostics& diagnostics);

  const std::vector<std::string>& columns() const { return columns_; }
  std::size_t rows() const { return columns_.empty() ? 0 : cells_.size() / columns_.size(); }
  std::optional<std::size_t> column(std::string_view name) const;

  const std::string& text(std::size_t row, std::size_t column) const {
    return cells_[row * columns_.size() + column].text;
  }
  /// Where the cell stands in the source.
  simcore::SourceLocation where(std::size_t row, std::size_t column) const {
    return positions_.at(cells_[row * columns_.size() + column].offset);
  }
  simcore::SourceLocation whole() const { return positions_.whole(); }

 private:
  struct Cell {
    std::string text;
    std::size_t offset = 0;
  };
  friend class CsvReader;
  explicit CsvTable(std::shared_ptr<const simcore::SourceText> source)
      : positions_(std::move(source)) {}

  simcore::SourcePositions positions_;
  std::vector<std::string> columns_;
  std::vector<Cell> cells_;  ///< row by row
};

}  // namespace shardsim::scenario

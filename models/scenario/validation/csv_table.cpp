#include "models/scenario/validation/csv_table.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "simcore/utf8.hpp"

namespace shardsim::scenario {

using simcore::Diagnostics;
using simcore::SourceText;

/// Takes the text apart, cell by cell.
class CsvReader {
 public:
  CsvReader(CsvTable& table, Diagnostics& diagnostics)
      : table_(table), text_(table.positions_.source()->text), diagnostics_(diagnostics) {}

  /// False once there is no way to go on.
  bool read() {
    if (!check_text()) return false;
    while (at_ < text_.size()) {
      if (skip_line_end()) continue;
      std::vector<CsvTable::Cell> row;
      if (!read_row(row)) return false;
      if (table_.cells_.size() + row.size() > max_csv_cells) {
        return fail(row.front().offset, fmt::format("more than {} cells", max_csv_cells));
      }
      take(std::move(row));
    }
    if (table_.columns_.empty()) {
      diagnostics_.error(table_.whole(), "the file is empty: expected a header and rows");
    }
    return true;
  }

 private:
  bool fail(std::size_t offset, std::string message) {
    diagnostics_.error(table_.positions_.at(offset), std::move(message));
    return false;
  }

  bool check_text() {
    if (text_.size() > max_csv_bytes) {
      diagnostics_.error(table_.whole(), fmt::format("larger than {} MiB", max_csv_bytes >> 20));
      return false;
    }
    for (std::size_t at = 0; at < text_.size();) {
      const simcore::Utf8Character character = simcore::next_utf8(text_, at);
      if (!character.valid) return fail(at, "not UTF-8; save the file as UTF-8");
      if (character.code_point == 0) return fail(at, "NUL byte; this looks like a binary file");
      at += character.length;
    }
    return true;
  }

  bool skip_line_end() {
    if (text_[at_] == '\n') {
      ++at_;
      return true;
    }
    if (text_.substr(at_, 2) == "\r\n") {
      at_ += 2;
      return true;
    }
    return false;
  }
  bool at_line_end() const {
    return at_ == text_.size() || text_[at_] == '\n' || text_.substr(at_, 2) == "\r\n";
  }

  bool read_row(std::vector<CsvTable::Cell>& row) {
    for (;;) {
      CsvTable::Cell cell{{}, at_};
      if (!(at_ < text_.size() && text_[at_] == '"' ? quoted(cell) : plain(cell))) return false;
      if (row.size() == max_csv_columns) {
        return fail(cell.offset, fmt::format("more than {} cells in one row", max_csv_columns));
      }
      row.push_back(std::move(cell));
      if (at_line_end()) return true;
      ++at_;  // the comma
    }
  }

  bool plain(CsvTable::Cell& cell) {
    while (!at_line_end() && text_[at_] != ',') cell.text += text_[at_++];
    return true;
  }

  bool quoted(CsvTable::Cell& cell) {
    const std::size_t begin = at_++;
    for (;;) {
      const std::size_t close = text_.find('"', at_);
      if (close == std::string_view::npos) return fail(begin, "this quote is never closed");
      cell.text += text_.substr(at_, close - at_);
      at_ = close + 1;
      if (at_ == text_.size() || text_[at_] != '"') break;
      cell.text += '"';
      ++at_;
    }
    if (at_line_end() || text_[at_] == ',') return true;
    return fail(at_, "expected a comma or the end of the line after a closing quote");
  }

  void take(std::vector<CsvTable::Cell> row) {
    if (table_.columns_.empty()) return take_header(row);
    const std::size_t columns = table_.columns_.size();
    if (row.size() != columns) {
      fail(row.front().offset,
           fmt::format("expected {} cells as in the header, found {}", columns, row.size()));
      return;
    }
    std::move(row.begin(), row.end(), std::back_inserter(table_.cells_));
  }

  void take_header(const std::vector<CsvTable::Cell>& row) {
    for (const CsvTable::Cell& cell : row) {
      if (table_.column(cell.text)) {
        fail(cell.offset, fmt::format("there is a column {} already", simcore::quote(cell.text)));
      }
      table_.columns_.push_back(cell.text);
    }
  }

  CsvTable& table_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  std::size_t at_ = 0;
};

std::optional<CsvTable> CsvTable::read(std::shared_ptr<const SourceText> source,
                                       Diagnostics& diagnostics) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (source->text.starts_with(byte_order_mark)) {
    source = std::make_shared<SourceText>(
        SourceText{source->name, source->text.substr(byte_order_mark.size())});
  }
  const std::size_t errors = diagnostics.error_count();
  CsvTable table(std::move(source));
  CsvReader(table, diagnostics).read();
  if (diagnostics.error_count() != errors) return std::nullopt;
  return table;
}

std::optional<std::size_t> CsvTable::column(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name);
  if (found == columns_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - columns_.begin());
}

}  // namespace shardsim::scenario

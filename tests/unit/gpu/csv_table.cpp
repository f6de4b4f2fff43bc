#include "tests/unit/gpu/csv_table.hpp"

#include <charconv>
#include <fstream>

namespace shardsim::gpu {
namespace {

std::vector<std::string> split_line(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;  // a doubled quote inside a field is not needed here and vanishes
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else if (c != '\r') {
      fields.back() += c;
    }
  }
  return fields;
}

}  // namespace

CsvTable CsvTable::read(const std::filesystem::path& path) {
  CsvTable table;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> fields = split_line(line);
    if (!table.columns_.empty()) {
      table.cells_.push_back(std::move(fields));
      continue;
    }
    for (std::size_t i = 0; i < fields.size(); ++i) table.columns_.emplace(fields[i], i);
  }
  return table;
}

const std::string& CsvTable::text(std::size_t row, std::string_view column) const {
  static const std::string nothing;
  const auto found = columns_.find(column);
  if (found == columns_.end() || found->second >= cells_[row].size()) return nothing;
  return cells_[row][found->second];
}

double CsvTable::number(std::size_t row, std::string_view column, double otherwise) const {
  const std::string& field = text(row, column);
  double value = otherwise;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
  return error == std::errc() && end == field.data() + field.size() ? value : otherwise;
}

}  // namespace shardsim::gpu

#include "tests/unit/nccl/csv_rows.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace shardsim::nccl {
namespace {

void split(std::string_view text, char separator, std::vector<std::string_view>& parts) {
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

}  // namespace

CsvRows::CsvRows(const std::filesystem::path& path) {
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  content_ = content.str();
  std::vector<std::string_view> lines;
  split(content_, '\n', lines);
  for (std::string_view line : lines) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with('#')) continue;
    split(line, ',', header_.empty() ? header_ : cells_);
  }
  if (header_.empty()) header_.emplace_back();
}

std::string_view CsvRows::text(std::size_t row, std::string_view column) const {
  const auto found = std::ranges::find(header_, column);
  if (found == header_.end()) return {};
  return cells_[row * header_.size() + static_cast<std::size_t>(found - header_.begin())];
}

double CsvRows::number(std::size_t row, std::string_view column) const {
  const std::string_view cell = text(row, column);
  double value = 0;
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

std::int64_t CsvRows::integer(std::size_t row, std::string_view column) const {
  const std::string_view cell = text(row, column);
  std::int64_t value = 0;
  std::from_chars(cell.data(), cell.data() + cell.size(), value);
  return value;
}

}  // namespace shardsim::nccl

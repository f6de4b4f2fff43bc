// Published tables: comma-separated, with a header, fields quoted where they hold commas.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim::gpu {

class CsvTable {
 public:
  /// Empty if the file cannot be read.
  static CsvTable read(const std::filesystem::path& path);

  std::size_t rows() const { return cells_.size(); }
  bool has(std::string_view column) const { return columns_.find(column) != columns_.end(); }
  /// Empty if there is no such cell.
  const std::string& text(std::size_t row, std::string_view column) const;
  /// `otherwise` for an empty or unreadable cell.
  double number(std::size_t row, std::string_view column, double otherwise = 0) const;

 private:
  std::map<std::string, std::size_t, std::less<>> columns_;
  std::vector<std::vector<std::string>> cells_;
};

}  // namespace shardsim::gpu

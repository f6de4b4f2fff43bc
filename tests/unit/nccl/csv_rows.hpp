// A table of the test data: comma-separated, a header, lines that begin with '#' skipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim::nccl {

class CsvRows {
 public:
  /// The file must be readable; a missing one is an empty table.
  explicit CsvRows(const std::filesystem::path& path);

  std::size_t size() const { return cells_.size() / header_.size(); }
  std::string_view text(std::size_t row, std::string_view column) const;
  double number(std::size_t row, std::string_view column) const;
  std::int64_t integer(std::size_t row, std::string_view column) const;

 private:
  std::string content_;
  std::vector<std::string_view> header_;
  std::vector<std::string_view> cells_;
};

}  // namespace shardsim::nccl

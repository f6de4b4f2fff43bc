// Measured points to stand beside those of a sweep: a CSV with the columns of published scaling
// tables: `gpus`, `throughput_per_gpu` (tokens per second), and where there are some
// `efficiency_vs_smallest`, `row_id`, `source_id`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "simcore/diagnostics.hpp"

namespace shardsim::cli {

class MeasuredPoints {
 public:
  /// `argument` is FILE or FILE:COLUMN=VALUE,..., which keeps the rows with these values.
  static std::optional<MeasuredPoints> read(const std::vector<std::string>& arguments,
                                            simcore::Diagnostics& diagnostics);

  /// A JSON array of the points with so many GPUs; empty text if there are none.
  std::string json_for(int gpus) const;
  /// All of the files' text, for the sweep's hash.
  const std::string& text() const { return text_; }
  std::size_t size() const;

 private:
  bool add(const std::string& argument, simcore::Diagnostics& diagnostics);

  std::map<std::int64_t, std::vector<std::string>> by_gpus_;  ///< JSON objects
  std::string text_;
};

/// The file that such an argument names.
std::string measured_file(const std::string& argument);

}  // namespace shardsim::cli

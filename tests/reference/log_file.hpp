// The log of a run: rows in the order and the format of the chunk trace (docs/chunk-trace.md).
#pragma once

#include <cstdint>
#include <iosfwd>
#include <vector>

#include "tests/reference/work.hpp"

namespace shardsim::reference {

/// Rows of a team with who it is.
struct TeamLog {
  int rank = 0;
  int channel = 0;
  int role = 0;
  std::vector<LogRow> rows;
};

void write_log_header(std::ostream& out);
/// Times count from the earliest start of a row.
void write_log(std::ostream& out, std::int64_t size, const std::vector<TeamLog>& teams);

}  // namespace shardsim::reference

// Reads a file of points that a sweep is to go on with, and says which of its lines stay. It writes
// nothing: whether the file is the sweep's is known at its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "cli/sweep_journal.hpp"

namespace shardsim::cli {

struct JournalScan {
  std::vector<JournalLine> lines;  ///< that stay, in the file's order
  std::int64_t end = 0;            ///< behind the last whole line
  bool torn = false;               ///< there is more behind it: a line that was cut off
  bool spoilt = false;             ///< lines that do not stay are before `end`
  std::vector<std::string> warnings;
};

/// The error is a message: the file holds what is not this sweep's, or cannot be read.
std::expected<JournalScan, std::string> scan_journal(int file, const std::string& path,
                                                     const SweepIdentity& identity);

/// `length` bytes from `offset` on; false, with errno set, if the file has fewer or cannot be read.
bool read_exactly(int file, char* target, std::size_t length, std::int64_t offset);

}  // namespace shardsim::cli

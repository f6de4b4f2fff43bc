// The exit status that the points of a sweep make.
#pragma once

#include <expected>
#include <string>

#include "cli/sweep_journal.hpp"

namespace shardsim::cli {

struct PointsStatus {
  int status = 0;
  std::string message;  ///< why none has a result; empty where one has
};

/// 0 where some point has a result. Where none has: 2 if all of them are bad input, else 1, as a
/// run of each would end. The error says that the journal cannot be read.
std::expected<PointsStatus, std::string> status_of_points(const SweepJournal& journal);

}  // namespace shardsim::cli

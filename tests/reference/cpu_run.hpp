// The CPU twin: carries out a work with a thread for each rank, channel and role.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/reference/log_file.hpp"
#include "tests/reference/work.hpp"

namespace shardsim::reference {

/// Where a rank's data are and where its results go.
struct RankMemory {
  const std::byte* source = nullptr;
  std::byte* target = nullptr;
};

/// Returns when all threads are through. Logs stand in the order of the trace.
std::vector<TeamLog> run_on_cpu(const Plan& plan, const std::vector<RankMemory>& ranks);

}  // namespace shardsim::reference

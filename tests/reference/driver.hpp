// What programs that run works have in common: arguments, data, checks, the log.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "tests/reference/log_file.hpp"
#include "tests/reference/rank_data.hpp"
#include "tests/reference/work.hpp"

namespace shardsim::reference {

/// Carries out a plan on buffers of the host, and leaves the results in them. The error says why
/// it could not.
using Backend = std::function<std::expected<std::vector<TeamLog>, std::string>(
    const Plan& plan, std::vector<RankBuffers>& buffers)>;

/// From the first start of a row to the last end.
double span_us(const std::vector<TeamLog>& logs);

/// Runs the works of `--work FILE` and writes `--log FILE`. Returns the exit status: 0; 1 if a
/// result is wrong or a work could not be run; 2 for bad arguments or files.
int drive(int argc, char** argv, const Backend& backend);

}  // namespace shardsim::reference

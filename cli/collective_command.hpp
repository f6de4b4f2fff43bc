// `shardsim collective`: nccl-tests on a simulated cluster.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

/// Adds the subcommand.
void add_collective_command(CommandLine& line);

}  // namespace shardsim::cli

// `shardsim run`: one scenario, forecast, result files.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

/// Adds the subcommand.
void add_run_command(CommandLine& line);

}  // namespace shardsim::cli

// `shardsim validate`: holds forecasts against published measurements.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

/// Adds the subcommand.
void add_validate_command(CommandLine& line);

}  // namespace shardsim::cli

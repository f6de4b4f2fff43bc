// `shardsim sweep`: a scenario at many points.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

/// Declares the subcommand; when it is parsed, `action` becomes what to do.
void add_sweep_command(CommandLine& line);

}  // namespace shardsim::cli

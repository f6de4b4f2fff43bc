// `shardsim schema`: what the declarations of the parameters say, for editors and readers.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

/// Adds the subcommand.
void add_schema_command(CommandLine& line);

}  // namespace shardsim::cli

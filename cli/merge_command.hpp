// `shardsim merge`: the parts of a sweep as one.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

/// Declares the subcommand; when it is parsed, `action` becomes what to do.
void add_merge_command(CommandLine& line);

}  // namespace shardsim::cli

// `shardsim help`: what `--help` says, of any command; and the pages of the manual.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

void add_help_command(CommandLine& line);

}  // namespace shardsim::cli

// `shardsim completion`: what a shell needs to complete arguments of shardsim.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

void add_completion_command(CommandLine& line);

}  // namespace shardsim::cli

// `shardsim quiz`: the quiz on FSDP, its solution from simulation alone, and its exports.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

/// Adds the subcommand.
void add_quiz_command(CommandLine& line);

}  // namespace shardsim::cli

// `shardsim topology`: what a cluster consists of, and what NCCL plans on it.
#pragma once

#include "cli/command_line.hpp"

namespace shardsim::cli {

/// Adds the subcommand.
void add_topology_command(CommandLine& line);

}  // namespace shardsim::cli

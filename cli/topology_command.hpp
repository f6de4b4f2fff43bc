// `shardsim topology`: what a cluster consists of, and what NCCL plans on it.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace shardsim::cli {

/// Adds the subcommand; when it is chosen, `action` is set to what carries it out and returns the
/// exit status.
void add_topology_command(CLI::App& app, std::function<int()>& action);

}  // namespace shardsim::cli

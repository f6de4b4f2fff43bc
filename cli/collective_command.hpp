// `shardsim collective`: nccl-tests on a simulated cluster.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace shardsim::cli {

/// Adds the subcommand; when it is chosen, `action` is set to what carries it out and returns the
/// exit status.
void add_collective_command(CLI::App& app, std::function<int()>& action);

}  // namespace shardsim::cli

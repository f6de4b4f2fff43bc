// `shardsim run`: one scenario, forecast, result files.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace shardsim::cli {

/// Adds the subcommand; when it is chosen, `action` is set to what carries it out and returns the
/// exit status.
void add_run_command(CLI::App& app, std::function<int()>& action);

}  // namespace shardsim::cli

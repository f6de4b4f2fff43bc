// `shardsim sweep`: a scenario at many points.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace shardsim::cli {

/// Declares the subcommand; when it is parsed, `action` becomes what to do.
void add_sweep_command(CLI::App& app, std::function<int()>& action);

}  // namespace shardsim::cli

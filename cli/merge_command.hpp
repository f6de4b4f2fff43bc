// `shardsim merge`: the parts of a sweep as one.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace shardsim::cli {

/// Declares the subcommand; when it is parsed, `action` becomes what to do.
void add_merge_command(CLI::App& app, std::function<int()>& action);

}  // namespace shardsim::cli

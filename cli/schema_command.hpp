// `shardsim schema`: what the declarations of the parameters say, for editors and readers.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace shardsim::cli {

/// Adds the subcommand; when it is chosen, `action` is set to what carries it out.
void add_schema_command(CLI::App& app, std::function<int()>& action);

}  // namespace shardsim::cli

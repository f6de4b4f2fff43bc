// `shardsim quiz`: the quiz on FSDP, its solution from simulation alone, and its exports.
#pragma once

#include <functional>

#include <CLI/CLI.hpp>

namespace shardsim::cli {

/// Adds the subcommand; when it is chosen, `action` is set to what carries it out and returns the
/// exit status.
void add_quiz_command(CLI::App& app, std::function<int()>& action);

}  // namespace shardsim::cli

#include "cli/application.hpp"

#include <functional>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/budget.hpp"
#include "cli/collective_command.hpp"
#include "cli/merge_command.hpp"
#include "cli/quiz_command.hpp"
#include "cli/run_command.hpp"
#include "cli/schema_command.hpp"
#include "cli/sweep_command.hpp"
#include "cli/topology_command.hpp"
#include "cli/validate_command.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::cli {

namespace {

/// A first word that is no subcommand gets a message of its own, with the nearest one.
bool names_no_command(const CLI::App& app, int argc, const char* const* argv) {
  if (argc < 2 || argv[1][0] == '-') return false;
  const std::string word = argv[1];
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == word) return false;
    names.push_back(command->get_name());
  }
  std::cerr << fmt::format("shardsim: there is no command '{}'", word);
  const std::string near = simcore::nearest_spelling(word, names);
  std::cerr << (near.empty() ? fmt::format(": expected one of {}", fmt::join(names, ", "))
                             : fmt::format(": did you mean '{}'?", near))
            << '\n';
  return true;
}

/// A command whose output was lost has not done well, whatever it says itself.
int finished(int status) {
  std::cout.flush();
  if (std::cout || status != 0) return status;
  std::cerr << "shardsim: cannot write to standard output\n";
  return 2;
}

}  // namespace

int run_application(int argc, const char* const* argv) {
  CLI::App app{"What will this sharded training step do on that GPU cluster?", "shardsim"};
  app.set_version_flag("--version", SHARDSIM_VERSION);
  app.require_subcommand(1);
  app.footer("A first one: shardsim run scenarios/fsdp2-llama-2-7b-4xdgx-h100.yaml");
  std::function<int()> action;
  add_run_command(app, action);
  add_sweep_command(app, action);
  add_merge_command(app, action);
  add_collective_command(app, action);
  add_topology_command(app, action);
  add_schema_command(app, action);
  add_validate_command(app, action);
  add_quiz_command(app, action);
  say_so_at_the_end_of_memory();
  static_cast<void>(limit_memory({}));  // the default; a command may be told another
  if (names_no_command(app, argc, argv)) return 2;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version end well; every other way out of the parser is bad arguments.
    return finished(app.exit(error, std::cout, std::cerr) == 0 ? 0 : 2);
  }
  try {
    return finished(action());
  } catch (const std::bad_alloc&) {
    std::cerr << "shardsim: " << out_of_memory_message() << '\n';
    return 1;
  }
}

}  // namespace shardsim::cli

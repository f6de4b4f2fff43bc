#include "cli/application.hpp"

#include <functional>
#include <iostream>
#include <new>

#include <CLI/CLI.hpp>

#include "cli/collective_command.hpp"
#include "cli/quiz_command.hpp"
#include "cli/run_command.hpp"
#include "cli/schema_command.hpp"
#include "cli/topology_command.hpp"
#include "cli/validate_command.hpp"

namespace shardsim::cli {

int run_application(int argc, const char* const* argv) {
  CLI::App app{"What will this sharded training step do on that GPU cluster?", "shardsim"};
  app.set_version_flag("--version", SHARDSIM_VERSION);
  app.require_subcommand(1);
  app.footer("A first one: shardsim run scenarios/fsdp2-llama-2-7b-4xdgx-h100.yaml");
  std::function<int()> action;
  add_run_command(app, action);
  add_collective_command(app, action);
  add_topology_command(app, action);
  add_schema_command(app, action);
  add_validate_command(app, action);
  add_quiz_command(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Help and version end well; every other way out of the parser is bad arguments.
    return app.exit(error, std::cout, std::cerr) == 0 ? 0 : 2;
  }
  try {
    return action();
  } catch (const std::bad_alloc&) {
    std::cerr << "shardsim: this machine has too little memory for the run\n";
    return 1;
  }
}

}  // namespace shardsim::cli

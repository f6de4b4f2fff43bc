#include "cli/application.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/budget.hpp"
#include "cli/collective_command.hpp"
#include "cli/command_line.hpp"
#include "cli/command_page.hpp"
#include "cli/completion_command.hpp"
#include "cli/help_command.hpp"
#include "cli/merge_command.hpp"
#include "cli/output_target.hpp"
#include "cli/quiz_command.hpp"
#include "cli/run_command.hpp"
#include "cli/schema_command.hpp"
#include "cli/sweep_command.hpp"
#include "cli/topology_command.hpp"
#include "cli/validate_command.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::cli {

namespace {

void add_commands(CommandLine& line) {
  line.describe(
      line.root(),
      {"Simulates a training step on a cluster: the CUDA runtime of each rank, NCCL's collectives, "
       "the network. Where a scenario or topology is asked for, a name is one that comes with the "
       "program, anything that ends in .yaml or is a file is read as it is.",
       {{"A first forecast", {"shardsim run fsdp2-llama-2-7b-4xdgx-h100"}},
        {"All about a command", {"shardsim help run"}}}});
  add_run_command(line);
  add_sweep_command(line);
  add_merge_command(line);
  add_collective_command(line);
  add_topology_command(line);
  add_schema_command(line);
  add_validate_command(line);
  add_quiz_command(line);
  add_help_command(line);
  add_completion_command(line);
}

/// The command that the words so far have led to.
const CLI::App& last_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : last_command(*chosen.back());
}

std::vector<std::string> option_names(const CommandPage& page) {
  std::vector<std::string> names;
  for (const auto* entries : {&page.options, &page.inherited}) {
    for (const OptionEntry& one : *entries) {
      names.insert(names.end(), one.names.begin(), one.names.end());
    }
  }
  return names;
}

/// A word that the command does not know gets a message with the nearest one that it knows.
int refuse_word(const CommandLine& line, const std::string& word) {
  const CommandPage page = page_of(last_command(line.root()), line);
  const bool option = word.size() > 1 && word.front() == '-';
  const bool command = !option && !page.commands.empty();
  std::vector<std::string> known;
  if (option) known = option_names(page);
  for (const CommandPage& one : page.commands) {
    if (command) known.push_back(one.name);
  }
  const std::string name = word.substr(0, option ? word.find('=') : std::string::npos);
  const std::string near = simcore::nearest_spelling(name, known);
  std::string text = option    ? fmt::format("there is no option '{}'", name)
                     : command ? fmt::format("there is no command '{}'", name)
                               : fmt::format("'{}' is one argument too many", name);
  if (word == "--") {
    text += "; a file whose name begins with '-' is written ./-NAME";
  } else if (!near.empty()) {
    text += simcore::did_you_mean(near);
  } else if (command) {
    text += fmt::format(": expected one of {}", fmt::join(known, ", "));
  } else {
    text += fmt::format("; {} --help lists what there is", page.path);
  }
  std::cerr << page.path << ": " << text << '\n';
  return 2;
}

/// A command whose output was lost has not done well, whatever it says itself.
int finished(int status) {
  std::cout.flush();
  if (std::cout || status != 0) return status;
  fall_silent_without_reader();
  std::cerr << "shardsim: cannot write to standard output\n";
  return 2;
}

/// Says on one line what the parser found wrong, in the name of the command that it was reading.
int refuse_usage(const CommandLine& line, const CLI::ParseError& error) {
  const CommandPage page = page_of(last_command(line.root()), line);
  std::string text = error.what();
  if (static_cast<CLI::ExitCodes>(error.get_exit_code()) == CLI::ExitCodes::RequiredError &&
      page.needs_command && last_command(line.root()).get_subcommands().empty()) {
    std::vector<std::string> names;
    for (const CommandPage& one : page.commands) names.push_back(one.name);
    text = fmt::format("expected a command, one of {}", fmt::join(names, ", "));
  }
  // "--max-time: 1 required SECONDS missing" is CLI11's way to ask for a value.
  constexpr std::string_view one = "1 required ";
  constexpr std::string_view missing = " missing";
  if (const auto at = text.find(one); at != std::string::npos && text.ends_with(missing)) {
    text.resize(text.size() - missing.size());
    text.replace(at, one.size(), "expected ");
  }
  const auto reword = [&text](std::string_view theirs, std::string_view ours) {
    if (const auto at = text.find(theirs); at != std::string::npos) {
      text.replace(at, theirs.size(), ours);
    }
  };
  reword(": At Most ", ": expected at most ");
  reword(" required but received ", ", found ");
  if (!text.ends_with('?')) text += fmt::format("; {} --help lists what there is", page.path);
  std::cerr << fmt::format("{}: {}\n", page.path, text);
  return 2;
}

/// The exit status where there is nothing to carry out.
int parse_ended(CommandLine& line, const CLI::ParseError& error) {
  const auto unknown = line.root().remaining(true);
  const auto code = static_cast<CLI::ExitCodes>(error.get_exit_code());
  const bool lost = code == CLI::ExitCodes::ExtrasError || code == CLI::ExitCodes::RequiredError;
  if (lost && !unknown.empty()) return refuse_word(line, unknown.front());
  // Help and version end well; every other way out of the parser is bad arguments.
  if (error.get_exit_code() != 0) return refuse_usage(line, error);
  return finished(line.root().exit(error, std::cout, std::cerr));
}

/// An option that was given nothing: CLI11 takes that for a text.
std::optional<std::string> option_without_value(std::span<const char* const> arguments) {
  for (std::size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view one = arguments[i];
    if (one == "--") break;
    const std::string_view before = arguments[i - 1];
    if (one.empty() && before.starts_with('-') && before != "-") return std::string(before);
    if (one.starts_with("--") && one.ends_with('=') && one.find('=') == one.size() - 1) {
      return std::string(one.substr(0, one.size() - 1));
    }
  }
  return std::nullopt;
}

}  // namespace

int run_application(int argc, const char* const* argv) {
  CommandLine line;
  add_commands(line);
  say_so_at_the_end_of_memory();
  if (const auto limited = limit_memory({}); !limited) {  // a command may be told another limit
    std::cerr << "shardsim: " << limited.error() << '\n';
    return 2;
  }
  const std::span<const char* const> arguments(argv, static_cast<std::size_t>(std::max(argc, 0)));
  if (const auto option = option_without_value(arguments)) {
    const std::string_view command = arguments[1];
    std::cerr << fmt::format("shardsim{}: {}: expected a value, found nothing\n",
                             command.starts_with('-') ? "" : " " + std::string(command), *option);
    return 2;
  }
  try {
    line.root().parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return parse_ended(line, error);
  }
  try {
    return finished(line.chosen()());
  } catch (const std::bad_alloc&) {
    std::cerr << "shardsim: " << out_of_memory_message() << '\n';
    return 1;
  } catch (const std::filesystem::filesystem_error& error) {
    // The last net: what asks the file system is to tell of its failures in its own words.
    std::cerr << "shardsim: " << error.what() << '\n';
    return 2;
  }
}

}  // namespace shardsim::cli

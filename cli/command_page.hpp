// What there is to say about a command, taken from its declaration: what help, man pages and shell
// completion are written from.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/command_line.hpp"

namespace shardsim::cli {

struct OptionEntry {
  std::vector<std::string> names;  ///< with dashes, short ones first; of an argument, its label
  std::string value;               ///< label; empty for a flag
  bool value_optional = false;
  std::string description;
  std::string default_value;  ///< empty: none is shown
  std::string needs;          ///< another option without which it has no sense, or empty
  bool required = false;
  bool repeats = false;

  /// What its label lists, `mpi|threads`; empty where the value is anything else.
  std::vector<std::string> choices() const;
  /// "-b, --minbytes SIZE".
  std::string heading() const;
};

struct CommandPage {
  std::string name;     ///< "solve"
  std::string path;     ///< "shardsim quiz solve"
  std::string summary;  ///< one line, without a full stop
  std::string description;
  std::vector<OptionEntry> arguments;
  std::vector<OptionEntry> options;
  std::vector<OptionEntry> inherited;  ///< options of the command above that it takes, too
  bool needs_command = false;
  std::vector<CommandPage> commands;
  std::vector<Example> examples;

  /// "shardsim run [OPTIONS] SCENARIO".
  std::string usage() const;
};

/// Exit statuses, the same for all commands.
struct ExitStatus {
  int status;
  const char* meaning;
};
inline constexpr ExitStatus exit_statuses[] = {
    {0, "Success."},
    {1,
     "The run is impossible (out of memory, deadlock, no route), over its budget or breaks an "
     "invariant; or what was asked for does not exist (no cluster meets the target, no point of "
     "the sweep or run of the table has a result)."},
    {2, "Bad input or arguments, or an output that could not be written."}};

CommandPage page_of(const CLI::App& app, const CommandLine& line);

/// `text` in lines of at most `width` columns, broken at spaces.
std::vector<std::string> wrapped_words(const std::string& text, std::size_t width);

}  // namespace shardsim::cli

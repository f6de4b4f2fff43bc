#include "cli/help_command.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/command_page.hpp"
#include "cli/help_text.hpp"
#include "cli/man_page.hpp"
#include "cli/output_target.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::cli {

namespace {

constexpr int exit_success = 0;
constexpr int exit_bad_input = 2;

struct HelpArguments {
  std::vector<std::string> words;
  bool manual = false;
  std::string folder;
};

/// The page that the words name; null, and a message, if there is none.
const CommandPage* find_page(const CommandPage& program, const std::vector<std::string>& words) {
  const CommandPage* page = &program;
  for (const std::string& word : words) {
    const auto found = std::ranges::find(page->commands, word, &CommandPage::name);
    if (found != page->commands.end()) {
      page = &*found;
      continue;
    }
    if (page->commands.empty()) {
      std::cerr << fmt::format("shardsim help: `{}` has no commands: '{}' is one word too many\n",
                               page->path, word);
      return nullptr;
    }
    std::vector<std::string> names;
    names.reserve(page->commands.size());
    for (const CommandPage& one : page->commands) names.push_back(one.name);
    const std::string near = simcore::nearest_spelling(word, names);
    std::cerr << fmt::format("{}: there is no command '{}'", page->path, word);
    if (!near.empty()) {
      std::cerr << simcore::did_you_mean(near);
    } else {
      std::cerr << fmt::format(": expected one of {}", fmt::join(names, ", "));
    }
    std::cerr << '\n';
    return nullptr;
  }
  return page;
}

int write_manual(const CommandPage& program, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  for (const ManPage& page : man_pages(program)) {
    const auto done =
        write_document((folder / page.file).string(), [&](std::ostream& out) { out << page.text; });
    if (done) continue;
    std::cerr << "shardsim help: " << done.error() << '\n';
    return exit_bad_input;
  }
  return exit_success;
}

int run(const HelpArguments& arguments, const CommandLine& line) {
  const CommandPage program = page_of(line.root(), line);
  if (!arguments.folder.empty() && (arguments.manual || !arguments.words.empty())) {
    std::cerr << "shardsim help: --man-pages writes the pages of all commands: expected neither a "
                 "command nor --man beside it\n";
    return exit_bad_input;
  }
  if (!arguments.folder.empty()) return write_manual(program, arguments.folder);
  const CommandPage* page = find_page(program, arguments.words);
  if (page == nullptr) return exit_bad_input;
  const std::string command = arguments.words.empty() ? "" : arguments.words.front();
  std::cout << (arguments.manual ? man_page(program, command).text : help_text(*page));
  return exit_success;
}

}  // namespace

void add_help_command(CommandLine& line) {
  auto arguments = std::make_shared<HelpArguments>();
  CLI::App* help = line.root().add_subcommand("help", "Tell about a command");
  help->add_option("command", arguments->words, "The command, and its own command if it has any")
      ->type_name("COMMAND");
  help->add_flag("--man", arguments->manual,
                 "As a page of the manual, e.g. for 'man -l -' to read");
  expect_name(*help->add_option("--man-pages", arguments->folder,
                                "Write the pages of all commands into this folder"),
              label::folder);
  line.describe(
      *help, {"The same texts as with --help, and as pages of the manual.",
              {{"All about forecasts of one scenario", {"shardsim help run"}},
               {"A command of a command", {"shardsim help quiz solve"}},
               {"As a page of the manual, in troff's language", {"shardsim help sweep --man"}}}});
  help->callback(
      [arguments, &line] { line.choose([arguments, &line] { return run(*arguments, line); }); });
}

}  // namespace shardsim::cli

#include "cli/completion_command.hpp"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "cli/command_page.hpp"
#include "cli/completion_words.hpp"
#include "cli/shell_completion.hpp"

namespace shardsim::cli {

namespace {

constexpr int exit_success = 0;
constexpr int exit_bad_input = 2;

struct CompletionArguments {
  std::string shell;
  std::string data;
};

int run(const CompletionArguments& arguments, const CommandLine& line) {
  std::optional<std::filesystem::path> data;
  if (!arguments.data.empty()) data = arguments.data;
  auto words = completion_words(current_data_search(data));
  if (!words) {
    std::cerr << "shardsim: " << words.error() << '\n';
    return exit_bad_input;
  }
  const CommandPage program = page_of(line.root(), line);
  for (const CommandPage& one : program.commands) {
    words->by_label["COMMAND"].push_back(one.name);
  }
  std::cout << (arguments.shell == "bash"  ? bash_completion(program, *words)
                : arguments.shell == "zsh" ? zsh_completion(program, *words)
                                           : fish_completion(program, *words));
  return exit_success;
}

}  // namespace

void add_completion_command(CommandLine& line) {
  auto arguments = std::make_shared<CompletionArguments>();
  CLI::App* command = line.root().add_subcommand(
      "completion", "Print a script that completes arguments in a shell");
  allow_only(*command->add_option("shell", arguments->shell, "The shell")->required(),
             {"bash", "zsh", "fish"});
  expect_name(*command->add_option("--data", arguments->data,
                                   "Folder that holds topologies/ and scenarios/"),
              label::folder);
  line.describe(
      *command,
      {"The script knows commands, options, keys of --set, names of shipped scenarios, topologies "
       "and questions. The Debian package installs it for all three shells.",
       {{"For bash, from its next start", {"shardsim completion bash > shardsim.bash"}},
        {"For zsh: a file in a folder of $fpath", {"shardsim completion zsh > _shardsim"}},
        {"For fish: in ~/.config/fish/completions",
         {"shardsim completion fish > shardsim.fish"}}}});
  command->callback(
      [arguments, &line] { line.choose([arguments, &line] { return run(*arguments, line); }); });
}

}  // namespace shardsim::cli

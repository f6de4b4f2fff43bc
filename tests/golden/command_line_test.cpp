// Help, the manual and completion: that they agree with the program, and that examples work.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "program.hpp"

namespace shardsim {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> commands{"run",    "sweep",    "merge", "collective", "topology",
                                        "schema", "validate", "quiz",  "help",       "completion"};
const std::vector<std::string> all_commands{
    "",           "run",        "sweep",    "merge",     "collective",
    "topology",   "schema",     "validate", "quiz",      "help",
    "completion", "quiz solve", "quiz web", "quiz data", "quiz export",
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The commands of a help text's examples, in their order.
std::vector<std::string> examples_in(const std::string& help) {
  std::vector<std::string> found;
  bool inside = false;
  for (const std::string& line : lines_of(help)) {
    if (!line.starts_with(' ')) inside = line == "Examples:";
    if (inside && line.starts_with("    shardsim ")) found.push_back(line.substr(4));
  }
  return found;
}

/// The same of a page of the manual: what stands unfilled in it.
std::vector<std::string> examples_in_manual(const std::string& page) {
  std::vector<std::string> found;
  for (std::string line : lines_of(page)) {
    if (!line.starts_with("shardsim ") || line.starts_with("shardsim \\-")) continue;
    for (std::size_t at = 0; (at = line.find("\\-", at)) != std::string::npos;) line.erase(at, 1);
    found.push_back(line);
  }
  return found;
}

/// Bytes of all files of a folder.
std::uintmax_t bytes_in(const fs::path& folder) {
  std::uintmax_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) sum += entry.file_size();
  }
  return sum;
}

/// Runs a command line of `bash` in a folder, with the program under its own name.
ProgramRun run_in(const ScratchFolder& bin, const fs::path& folder, const std::string& command) {
  const ScratchFolder out;
  const std::string script = bin.write(
      "script.sh", "export PATH='" + bin.path().string() + "':$PATH HOME='" + bin.path().string() +
                       "'\nunset SHARDSIM_DATA XDG_STATE_HOME\ncd '" + folder.string() + "'\n" +
                       command + "\n");
  const int status = std::system(
      ("bash " + script + " >" + out.file("out") + " 2>" + out.file("err") + " </dev/null")
          .c_str());
  ProgramRun run;
  if (WIFEXITED(status)) run.status = WEXITSTATUS(status);
  run.output = read_text(out.file("out"));
  run.messages = read_text(out.file("err"));
  return run;
}

bool has_shell(const std::string& shell) {
  return std::system(("command -v " + shell + " >/dev/null 2>&1").c_str()) == 0;
}

/// What bash offers behind these words, the last of which is being typed.
std::set<std::string> offered(const std::string& script, const std::vector<std::string>& words) {
  std::string command = "source '" + script + "'; COMP_WORDS=(";
  for (const std::string& word : words) command += "'" + word + "' ";
  command += "); COMP_CWORD=" + std::to_string(words.size() - 1) +
             "; _shardsim 2>/dev/null; printf '%s\\n' \"${COMPREPLY[@]}\"";
  const ScratchFolder bin;
  const ProgramRun run = run_in(bin, bin.path(), command);
  const std::vector<std::string> lines = lines_of(run.output);
  return {lines.begin(), lines.end()};
}

}  // namespace

TEST_CASE("every example of every help text works in a folder of its own") {
  const ScratchFolder bin;
  fs::create_symlink(SHARDSIM_PROGRAM, bin.path() / "shardsim");
  std::size_t examples = 0;
  for (const std::string& command : all_commands) {
    CAPTURE(command);
    const ProgramRun help = run_program(command + " --help");
    REQUIRE(help.status == 0);
    CHECK(run_program("help " + command).output == help.output);
    const std::vector<std::string> found = examples_in(help.output);
    if (command != "quiz web") CHECK_FALSE(found.empty());  // a build without pages has none there
    const ScratchFolder scratch;
    for (const std::string& example : found) {
      CAPTURE(example);
      const std::uintmax_t before = bytes_in(scratch.path());
      const ProgramRun run = run_in(bin, scratch.path(), example);
      CAPTURE(run.messages);
      CHECK(run.status == 0);
      // Files that it says it writes count as output.
      CHECK((!run.output.empty() || bytes_in(scratch.path()) > before));
      ++examples;
    }
  }
  CHECK(examples >= 25);
}

TEST_CASE("the manual has the help's examples and options, and no date") {
  const ScratchFolder pages;
  REQUIRE(run_program("help --man-pages " + pages.path().string()).status == 0);
  for (const std::string& command : all_commands) {
    CAPTURE(command);
    const std::string name = command.substr(0, command.find(' '));
    const std::string page =
        read_text(pages.file("shardsim" + (name.empty() ? "" : "-" + name) + ".1"));
    CHECK(page.starts_with(".TH shardsim"));
    const std::vector<std::string> in_page = examples_in_manual(page);
    const std::string help = run_program(command + " --help").output;
    for (const std::string& example : examples_in(help)) {
      CAPTURE(example);
      CHECK(std::ranges::find(in_page, example) != in_page.end());
    }
    for (const std::string& line : lines_of(help)) {
      const std::size_t option = line.find("--");
      if (!line.starts_with("  -") || option > 6) continue;
      const std::string long_name =
          line.substr(option + 2, line.find_first_of(" ,", option) - option - 2);
      std::string escaped = "\\-\\-" + long_name;
      for (std::size_t at = 4; (at = escaped.find('-', at)) != std::string::npos; at += 2) {
        if (escaped[at - 1] != '\\') escaped.insert(at, 1, '\\');
      }
      // What a command of a command inherits stands once, with the command above.
      CHECK(page.find(escaped) != std::string::npos);
    }
  }
}

TEST_CASE("pages of the manual are read without a complaint") {
  if (!has_shell("man")) {
    MESSAGE("SKIPPED: there is no man");
    return;
  }
  const ScratchFolder pages;
  REQUIRE(run_program("help --man-pages " + pages.path().string()).status == 0);
  for (const auto& page : fs::directory_iterator(pages.path())) {
    CAPTURE(page.path().string());
    const ProgramRun run =
        run_in(pages, pages.path(),
               "MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 '" + page.path().string() + "'");
    CHECK(run.status == 0);
    CHECK(run.messages.empty());
    CHECK_FALSE(run.output.empty());
  }
}

TEST_CASE("bash completes commands, options, keys and names") {
  const ScratchFolder scratch;
  const std::string script = scratch.write("c.bash", run_program("completion bash").output);
  const auto first = offered(script, {"shardsim", ""});
  for (const std::string& command : commands) CHECK(first.contains(command));
  CHECK(offered(script, {"shardsim", "sw"}) == std::set<std::string>{"sweep"});
  CHECK(offered(script, {"shardsim", "quiz", "s"}) == std::set<std::string>{"solve"});
  CHECK(offered(script, {"shardsim", "run", "--js"}) == std::set<std::string>{"--json"});
  CHECK(offered(script, {"shardsim", "quiz", "solve", "--q"}) ==
        std::set<std::string>{"--question"});
  CHECK(offered(script, {"shardsim", "quiz", "solve", "--question", "q5"}).contains("q5"));
  CHECK(offered(script, {"shardsim", "quiz", "--lang", ""}) ==
        std::set<std::string>{"en", "hi", "ms"});
  CHECK(offered(script, {"shardsim", "run", "hsdp"}) ==
        std::set<std::string>{"hsdp-llama-2-7b-4xdgx-h100"});
  CHECK(offered(script, {"shardsim", "topology", "dgx-h1"}) == std::set<std::string>{"dgx-h100"});
  CHECK(offered(script, {"shardsim", "collective", "all_"}) ==
        std::set<std::string>{"all_gather", "all_reduce"});
  CHECK(offered(script, {"shardsim", "collective", "--launch", "t"}) ==
        std::set<std::string>{"threads"});
  CHECK(offered(script, {"shardsim", "run", "x", "--set", "cluster.n"}) ==
        std::set<std::string>{"cluster.nodes="});
  CHECK(offered(script, {"shardsim", "run", "x", "--set", "training.strategy", "=", "fsdp"}) ==
        std::set<std::string>{"fsdp1", "fsdp2"});
  CHECK(offered(script, {"shardsim", "run", "x", "--set", "cluster.topology", "=", "dgx-b"}) ==
        std::set<std::string>{"dgx-b200"});
  CHECK(offered(script, {"shardsim", "sweep", "x", "--best", "throughput.mf"}) ==
        std::set<std::string>{"throughput.mfu"});
  CHECK(offered(script, {"shardsim", "help", "comp"}) == std::set<std::string>{"completion"});
}

TEST_CASE("the scripts of all shells can be read by them") {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    if (!has_shell(shell)) {
      MESSAGE("SKIPPED: there is no ", shell);
      continue;
    }
    const ScratchFolder scratch;
    const ProgramRun written = run_program("completion " + shell);
    CHECK(written.status == 0);
    const std::string script = scratch.write("script", written.output);
    CHECK(std::system((shell + " -n " + script).c_str()) == 0);
  }
  if (has_shell("fish")) {
    const ScratchFolder scratch;
    const std::string script = scratch.write("c.fish", run_program("completion fish").output);
    const ProgramRun run =
        run_in(scratch, scratch.path(),
               "fish -c 'source " + script + "; complete -C \"shardsim quiz so\"'");
    CHECK(run.output.starts_with("solve\t"));
  }
}

TEST_CASE("what is not known is refused with the nearest that is") {
  struct Case {
    const char* arguments;
    const char* message;
  };
  for (const Case& one : std::vector<Case>{
           {"rum", "there is no command 'rum'; did you mean 'run'?"},
           {"quiz solv", "there is no command 'solv'; did you mean 'solve'?"},
           {"run x --jsn=y", "there is no option '--jsn'; did you mean '--json'?"},
           {"quiz solve --dat x", "there is no option '--dat'; did you mean '--data'?"},
           {"topology dgx-h100 more", "'more' is one argument too many"},
           {"help sweeep", "there is no command 'sweeep'; did you mean 'sweep'?"},
           {"schema resul", "there is no schema 'resul'; did you mean 'result'?"},
           {"run fsdp2-lama-3-8b-1xdgx-h100", "did you mean 'fsdp2-llama-3-8b-1xdgx-h100'?"},
           {"validate --training published-run", "expected published-runs"},
           {"collective allreduce --topology dgx-h100", "found 'allreduce'; did you mean"},
           {"completion tcsh", "expected one of bash, zsh, fish, found 'tcsh'"},
           {"help run sweep", "`shardsim run` has no commands: 'sweep' is one word too many"},
           {"", "shardsim: expected a command, one of run, sweep"},
       }) {
    CAPTURE(one.arguments);
    const ProgramRun run = run_program(one.arguments);
    CHECK(run.status == 2);
    CHECK(run.output.empty());
    CHECK(run.messages.find(one.message) != std::string::npos);
  }
}

TEST_CASE("every usage error is one line in the name of its command") {
  for (const auto& [arguments, command] : std::vector<std::pair<std::string, std::string>>{
           {"", "shardsim: "},
           {"rum", "shardsim: "},
           {"run", "shardsim run: "},
           {"run x --max-time", "shardsim run: "},
           {"run x --max-time abc", "shardsim run: "},
           {"run x --trace-ranks 0", "shardsim run: "},
           {"run x --jsn", "shardsim run: "},
           {"collective all_reduce", "shardsim collective: "},
           {"collective allreduce --topology dgx-h100", "shardsim collective: "},
           {"collective all_reduce --topology dgx-h100 -d flot", "shardsim collective: "},
           {"sweep x --best a --target 'b<1'", "shardsim sweep: "},
           {"validate --tables x", "shardsim validate: "},
           {"quiz web", "shardsim quiz web: "},
           {"quiz solv", "shardsim quiz: "},
           {"completion tcsh", "shardsim completion: "},
           {"help run sweep", "shardsim help: "},
           {"help run --man-pages x", "shardsim help: "},
           {"validate --reference x --residuals y", "shardsim validate: "},
           {"schema resul", "shardsim schema: "}}) {
    CAPTURE(arguments);
    const ProgramRun run = run_program(arguments);
    CHECK(run.status == 2);
    CHECK(run.output.empty());
    CHECK_MESSAGE(run.messages.starts_with(command), run.messages);
    CHECK(std::ranges::count(run.messages, '\n') == 1);
  }
}

namespace {
const std::string two_nodes = "collective all_reduce --topology dgx-h100 --nodes 2 ";
}  // namespace

TEST_CASE("a limit that is no number, negative or beyond integers is refused, not lifted") {
  for (const char* limit : {"--max-time nan", "--max-time inf", "--max-events -5",
                            "--max-events 18446744073709551616", "--max-devices nan"}) {
    CAPTURE(limit);
    const ProgramRun run = run_program(two_nodes + "-b 8 -e 8 " + limit);
    CHECK(run.status == 2);
    CHECK(run.messages.find("number from ") != std::string::npos);
  }
}

TEST_CASE("options without a value, numbers of C and two values of one variable are refused") {
  const std::string run = "run " + shipped_scenario("textbook-fsdp2") + " --quiet ";
  for (const char* options :
       {"--max-memory ''", "--max-memory=", "--max-events 010", "--max-events 0x10", "--json ''",
        "--trace /dev/null --trace-ranks all", "--max-events 0.5"}) {
    CAPTURE(options);
    CHECK(run_program(run + options).status == 2);
  }
  CHECK(run_program(run + "--max-events 100000").status == 0);
  CHECK(run_program(run + "--max-events 0.5").messages.find("expected a whole number from 1") !=
        std::string::npos);
  CHECK(run_program("collective all_reduce --topology dgx-h100 -b ''")
            .messages.find("-b: expected a value") != std::string::npos);
  CHECK(run_program("sweep textbook-fsdp2 --shard '' --over cluster.nodes=1").status == 2);
  for (const char* options :
       {"--env NCCL_ALGO=Ring --env NCCL_ALGO=Tree", "--env NCCL_ALGO=Ring --algo Tree"}) {
    CAPTURE(options);
    const ProgramRun made = run_program(two_nodes + "-b 1M -e 1M " + options);
    CHECK(made.status == 2);
    CHECK(made.messages.find("NCCL_ALGO was given as") != std::string::npos);
  }
  CHECK(run_program(two_nodes + "-b 1M -e 1M --env NCCL_ALGO=Ring --algo Ring").status == 0);
}

}  // namespace shardsim

#include "cli/quiz_command.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/data_directory.hpp"
#include "cli/output_target.hpp"
#include "cli/progress_line.hpp"
#include "cli/terminal_input.hpp"
#include "quiz/publish/answered_bank.hpp"
#include "quiz/publish/exports.hpp"
#include "quiz/publish/quiz_data.hpp"
#include "quiz/publish/quiz_page.hpp"
#include "quiz/session/conversation.hpp"
#include "report/page.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::cli {

namespace {

namespace fs = std::filesystem;

constexpr int exit_success = 0;
constexpr int exit_impossible = 1;
constexpr int exit_bad_input = 2;
/// What a shell gives a program that an interrupt ended.
constexpr int exit_interrupted = 130;
/// The page that `quiz web` writes into a folder.
constexpr const char* page_name = "fsdp-quiz.html";

struct QuizArguments {
  std::string language;
  std::string data;
  std::string question;
  std::string json;
  std::string format;
  std::string out;
  bool plain = false;
  bool restart = false;
};

/// Of an environment variable; empty if it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string locale() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    if (const std::string value = variable(name); !value.empty()) return value;
  }
  return {};
}

bool shows_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = variable(name);
    if (!value.empty()) return value != "C" && value != "POSIX";
  }
  return true;
}

/// XDG Base Directory Specification: $XDG_STATE_HOME, by default ~/.local/state.
fs::path progress_path() {
  const std::string state = variable("XDG_STATE_HOME");
  if (!state.empty() && fs::path(state).is_absolute())
    return fs::path(state) / "shardsim/quiz.json";
  const std::string home = variable("HOME");
  const fs::path base = home.empty() ? fs::path(".") : fs::path(home);
  return base / ".local/state/shardsim/quiz.json";
}

std::size_t terminal_width() {
  winsize size{};
  const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40;
  return known ? std::min<std::size_t>(size.ws_col - 1, 100) : 80;
}

class QuizCommand {
 public:
  explicit QuizCommand(QuizArguments arguments) : arguments_(std::move(arguments)) {}

  int talk() {
    if (!load()) return exit_bad_input;
    const auto language = chosen_language();
    if (!language) return exit_bad_input;
    const fs::path path = progress_path();
    std::error_code ignored;
    if (arguments_.restart) fs::remove(path, ignored);
    const quiz::ProgressFile file(path);
    TerminalInput input;
    const auto ending = quiz::hold_conversation(*bank_, *runs_, file, {*language}, console(input));
    std::cout.flush();
    if (TerminalInput::interrupted()) return exit_interrupted;
    return ending == quiz::Ending::failed ? exit_impossible : exit_success;
  }

  int solve() {
    if (const int wrong = refuse_terminal_options(); wrong != exit_success) return wrong;
    if (!load()) return exit_bad_input;
    if (!arguments_.language.empty()) {
      const auto language = chosen_language();
      if (!language) return exit_bad_input;
      language_ = *language;
    }
    const quiz::Question* only = nullptr;
    if (!arguments_.question.empty()) {
      only = bank_->find(arguments_.question);
      if (only == nullptr) return no_question();
    }
    std::vector<quiz::QuestionVerdict> verdicts;
    for (const quiz::Question& question : bank_->questions) {
      if (only != nullptr && only != &question) continue;
      const auto runs = runs_->all(question.spec);
      if (!runs) return fail(runs.error());
      auto verdict = quiz::judge(question, quiz::facts_of(*runs));
      if (!verdict) return fail(verdict.error());
      verdicts.push_back(std::move(*verdict));
    }
    return write_solution(verdicts);
  }

  int publish() {
    if (const int wrong = refuse_terminal_options(); wrong != exit_success) return wrong;
    if (!load()) return exit_bad_input;
    const auto language = chosen_language();
    if (!language) return exit_bad_input;
    const auto answered = answer();
    if (!answered) return fail(answered.error());
    const quiz::Words& words = bank_->words.at(*language);
    return document(arguments_.out, arguments_.format == "gift" ? to_gift(*answered, words)
                                                                : to_anki_csv(*answered, words));
  }

  int data() {
    if (const int wrong = refuse_page_options("data"); wrong != exit_success) return wrong;
    if (!load()) return exit_bad_input;
    const auto answered = answer();
    if (!answered) return fail(answered.error());
    return document(arguments_.out, to_quiz_data(*bank_, *answered, "scenarios", SHARDSIM_VERSION));
  }

  int web() {
    if (const int wrong = refuse_page_options("page"); wrong != exit_success) return wrong;
    if (!report::has_pages()) return refuse(report::no_pages_message());
    if (!load()) return exit_bad_input;
    std::error_code failed;
    fs::create_directories(arguments_.out, failed);
    if (failed) return refuse("cannot make '" + arguments_.out + "': " + failed.message());
    const auto answered = answer();
    if (!answered) return fail(answered.error());
    const std::string module = packed_simulator();
    const auto page = to_quiz_page(*bank_, *answered, SHARDSIM_VERSION, module);
    if (!page) return refuse(page.error());
    const fs::path file = fs::path(arguments_.out) / page_name;
    const int written = document(file.string(), *page);
    if (written != exit_success) return written;
    std::cout << file.string() << '\n';
    if (module.empty()) {
      std::cerr
          << "shardsim quiz: there is no simulator for pages in this build, so the page shows "
             "the evidence recorded now: tools/setup web, then build again\n";
    }
    return exit_success;
  }

 private:
  /// Options of the quiz in the terminal have no sense where nothing is asked.
  int refuse_terminal_options() const {
    if (arguments_.plain) return refuse("--plain is for the quiz in the terminal");
    if (arguments_.restart) return refuse("--restart is for the quiz in the terminal");
    return exit_success;
  }

  /// A page has every language.
  int refuse_page_options(const char* what) const {
    if (arguments_.language.empty()) return refuse_terminal_options();
    return refuse(fmt::format(
        "--lang: the {} has all languages; the page opens in one of them with #{} behind its name",
        what, arguments_.language));
  }

  static int refuse(const std::string& why) {
    std::cerr << "shardsim quiz: " << why << '\n';
    return exit_bad_input;
  }

  /// What web/pack_module.mjs made while building; empty if this build or data has none.
  std::string packed_simulator() const {
    constexpr std::size_t most = 16 << 20;
    std::optional<fs::path> data;
    if (!arguments_.data.empty()) data = arguments_.data;
    const auto folder = find_data_folder(current_data_search(data), "web");
    if (!folder) return {};
    auto text = simcore::read_text_file(*folder / "simulator.txt", most);
    return text && text->size() <= most ? std::move(*text) : std::string();
  }

  static int fail(const std::string& why) {
    std::cerr << "shardsim quiz: " << why << '\n';
    return exit_impossible;
  }

  bool load() {
    std::optional<fs::path> data;
    if (!arguments_.data.empty()) data = arguments_.data;
    const DataSearch search = current_data_search(data);
    const auto folders = find_data_directory(search);
    const auto folder = find_data_folder(search, "quiz");
    if (!folders || !folder) {
      std::cerr << "shardsim quiz: " << (folders ? folder.error() : folders.error()) << '\n';
      return false;
    }
    simcore::Diagnostics diagnostics;
    bank_ = quiz::load_question_bank(*folder, diagnostics);
    std::cerr << simcore::to_text(diagnostics, "shardsim quiz");
    runs_ = std::make_unique<quiz::EvidenceRuns>(
        scenario::DataFolders{folders->topologies, folders->scenarios});
    return bank_.has_value();
  }

  /// `--lang`, else the locale's language if the bank has it, else the bank's first.
  std::optional<std::string> chosen_language() const {
    const auto& languages = bank_->spec.languages;
    if (arguments_.language.empty()) {
      const std::string wanted = locale().substr(0, 2);
      const bool known = std::ranges::find(languages, wanted) != languages.end();
      return known ? wanted : languages.front();
    }
    if (bank_->words.contains(arguments_.language)) return arguments_.language;
    std::cerr << fmt::format("shardsim quiz: there is no language '{}': expected {}\n",
                             arguments_.language, fmt::join(languages, ", "));
    return std::nullopt;
  }

  int no_question() const {
    std::vector<std::string> ids;
    for (const quiz::Question& question : bank_->questions) ids.push_back(question.spec.id);
    std::cerr << fmt::format("shardsim quiz: there is no question '{}': expected {}\n",
                             arguments_.question, fmt::join(ids, ", "));
    return exit_bad_input;
  }

  quiz::Console console(TerminalInput& input) const {
    const bool terminal = isatty(STDOUT_FILENO) == 1;
    quiz::Console made;
    made.write = [](const std::string& text) { std::cout << text << std::flush; };
    made.read_line = [&input]() -> std::optional<std::string> {
      if (!std::cout) return std::nullopt;  // nobody reads the questions
      return input.read_line();
    };
    made.seconds = [] {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      return std::chrono::duration<double>(now).count();
    };
    made.terminal = terminal && !arguments_.plain;
    made.colour = made.terminal && std::getenv("NO_COLOR") == nullptr && variable("TERM") != "dumb";
    made.plots.unicode = shows_unicode();
    made.plots.plain = arguments_.plain;
    made.width = terminal_width();
    return made;
  }

  std::expected<std::vector<quiz::AnsweredQuestion>, std::string> answer() {
    ProgressLine progress("simulating");
    return quiz::answer_all(*bank_, *runs_, [&progress](double share) { progress.update(share); });
  }

  int write_solution(const std::vector<quiz::QuestionVerdict>& verdicts) const {
    int written = exit_success;
    if (!arguments_.json.empty()) written = document(arguments_.json, quiz::to_json(verdicts));
    std::ostream& people = arguments_.json == "-" ? std::cerr : std::cout;
    int answered = 0;
    for (const quiz::QuestionVerdict& verdict : verdicts) {
      answered += verdict.answer.empty() ? 0 : 1;
      people << solution_text(verdict);
    }
    people << fmt::format("{} of {} questions have exactly one supported option; {} runs\n",
                          answered, verdicts.size(), runs_->size());
    people.flush();
    if (written != exit_success) return written;
    return answered == static_cast<int>(verdicts.size()) ? exit_success : exit_impossible;
  }

  std::string solution_text(const quiz::QuestionVerdict& verdict) const {
    const quiz::Words& words =
        bank_->words.at(language_.empty() ? bank_->spec.languages.front() : language_);
    std::string text = fmt::format("{}  {}\n", verdict.id, words.questions.at(verdict.id).ask);
    for (const quiz::OptionVerdict& option : verdict.options) {
      text += fmt::format("  {:<9}  {}\n", quiz::verdict_name(option.verdict),
                          words.option(verdict.id, option.id).text);
      if (!option.claim.empty()) text += "             if " + option.claim + "\n";
      for (const quiz::NamedQuantity& number : option.numbers) {
        text += fmt::format("             {:>10}  {}\n",
                            quiz::quantity_text(words.rules(), number.quantity), number.name);
      }
      for (const std::string& source : option.cites) {
        text += "             cited: " + bank_->spec.sources.at(source).title + "\n";
      }
    }
    return text + "\n";
  }

  static int document(const std::string& target, const std::string& text) {
    const auto done = write_document(target, [&](std::ostream& out) { out << text; });
    if (done) return exit_success;
    std::cerr << "shardsim quiz: " << done.error() << '\n';
    return exit_bad_input;
  }

  QuizArguments arguments_;
  std::optional<quiz::QuestionBank> bank_;
  std::unique_ptr<quiz::EvidenceRuns> runs_;
  std::string language_;  ///< of what solve() says; empty: the bank's first
};

void add_solve(CommandLine& line, CLI::App& quiz, const std::shared_ptr<QuizArguments>& arguments) {
  CLI::App* solve = quiz.add_subcommand(
      "solve", "Answer the questions from simulation alone: what supports or refutes each option");
  solve->add_option("--question", arguments->question, "Only this one, e.g. q5")
      ->type_name(label::question);
  solve->add_option("--json", arguments->json, "Write the verdicts as JSON; '-': standard output")
      ->type_name(label::file);
  line.describe(*solve, {"", {{"One question", {"shardsim quiz solve --question q5"}}}});
  solve->callback(
      [arguments, &line] { line.choose([arguments] { return QuizCommand(*arguments).solve(); }); });
}

void add_exports(CommandLine& line, CLI::App& quiz,
                 const std::shared_ptr<QuizArguments>& arguments) {
  const auto add_out = [&arguments](CLI::App& command, const char* what) {
    return command.add_option("--out", arguments->out, what)->required();
  };
  CLI::App* publish = quiz.add_subcommand("export", "The questions for Moodle or Anki");
  CLI::Option* format =
      publish->add_option("--format", arguments->format, "gift: for Moodle; anki: CSV for Anki");
  allow_only(*format, {"gift", "anki"});
  format->required();
  publish->add_option("--lang", arguments->language, "Language")->type_name(label::language);
  add_out(*publish, "File to write; '-': standard output")->type_name(label::file);
  line.describe(*publish, {"",
                           {{"Cards in Hindi for Anki",
                             {"shardsim quiz export --format anki --lang hi --out cards.csv"}}}});
  publish->callback([arguments, &line] {
    line.choose([arguments] { return QuizCommand(*arguments).publish(); });
  });
  CLI::App* web = quiz.add_subcommand(
      "web", "The quiz as one HTML file that holds the simulator and works from disk");
  add_out(*web, "Folder to write fsdp-quiz.html into")->type_name(label::folder);
  if (report::has_pages()) {
    line.describe(*web, {"", {{"The page", {"shardsim quiz web --out page"}}}});
  }
  web->callback(
      [arguments, &line] { line.choose([arguments] { return QuizCommand(*arguments).web(); }); });
  CLI::App* data = quiz.add_subcommand(
      "data", "Everything that a page needs: questions, words, recorded evidence, as JSON");
  add_out(*data, "File to write; '-': standard output")->type_name(label::file);
  line.describe(*data, {"", {{"For a page of your own", {"shardsim quiz data --out quiz.json"}}}});
  data->callback(
      [arguments, &line] { line.choose([arguments] { return QuizCommand(*arguments).data(); }); });
}

}  // namespace

void add_quiz_command(CommandLine& line) {
  auto arguments = std::make_shared<QuizArguments>();
  CLI::App* quiz = line.root().add_subcommand(
      "quiz", "A quiz on FSDP: eight questions, each answer backed by simulations run on the spot");
  quiz->require_subcommand(0, 1);
  quiz->add_option("--lang", arguments->language,
                   "Language: en, hi, ms; by default the locale's, else English")
      ->type_name(label::language);
  quiz->add_flag("--plain", arguments->plain,
                 "Words and numbers only, nothing redrawn: for screen readers");
  quiz->add_flag("--restart", arguments->restart, "Forget the answers given before");
  quiz->add_option("--data", arguments->data, "Folder that holds topologies/, scenarios/ and quiz/")
      ->type_name(label::folder);
  line.describe(*quiz,
                {"Asks one question after the other and shows what the simulator makes of the "
                 "answer. Answers "
                 "are kept in $XDG_STATE_HOME/shardsim/quiz.json, by default below ~/.local/state.",
                 {{"In Hindi", {"shardsim quiz --lang hi"}}}});
  add_solve(line, *quiz, arguments);
  add_exports(line, *quiz, arguments);
  // `quiz solve --data DIR` is what `quiz --data DIR solve` is.
  for (CLI::App* one : quiz->get_subcommands({})) one->fallthrough();
  quiz->callback([quiz, arguments, &line] {
    // A subcommand's callback comes first and has chosen then.
    if (!quiz->get_subcommands().empty()) return;
    line.choose([arguments] { return QuizCommand(*arguments).talk(); });
  });
}

}  // namespace shardsim::cli

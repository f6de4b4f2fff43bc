// `shardsim quiz` as users and scripts meet it: on a terminal, in a pipe, and as documents.
#include <array>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <pty.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

using Json = nlohmann::ordered_json;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// The program on a terminal of its own.
class Terminal {
 public:
  Terminal(const std::vector<std::string>& arguments, const std::string& state) {
    process_ = forkpty(&descriptor_, nullptr, nullptr, nullptr);
    if (process_ != 0) return;
    setenv("XDG_STATE_HOME", state.c_str(), 1);
    setenv("LC_ALL", "C.UTF-8", 1);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
    std::vector<char*> list{const_cast<char*>("shardsim"), const_cast<char*>("quiz")};
    for (const std::string& one : arguments) list.push_back(const_cast<char*>(one.c_str()));
    list.push_back(nullptr);
    execv(SHARDSIM_PROGRAM, list.data());
    _exit(127);
  }
  ~Terminal() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      waitpid(process_, nullptr, 0);
    }
    close(descriptor_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// Reads until a prompt (a colon and a blank at the end), or the end; false at the end.
  bool read_to_prompt() {
    for (;;) {
      pollfd waiting{descriptor_, POLLIN, 0};
      if (poll(&waiting, 1, 30'000) <= 0) return false;
      std::array<char, 4096> chunk;
      const ssize_t got = read(descriptor_, chunk.data(), chunk.size());
      if (got <= 0) return false;
      shown.append(chunk.data(), static_cast<std::size_t>(got));
      if (shown.ends_with(": ")) return true;
    }
  }
  void type(const std::string& text) {
    REQUIRE(write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  int status() {
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string shown;

 private:
  int descriptor_ = -1;
  pid_t process_ = -1;
};

const std::array<const char*, 8> answers{"a", "b", "c", "d", "a", "b", "c", "d"};

/// Takes the whole quiz with confidence 4; what was shown.
std::string take(const std::vector<std::string>& arguments, const std::string& state, int& status) {
  Terminal terminal(arguments, state);
  for (std::size_t k = 0; k < answers.size(); ++k) {
    for (const std::string& line : {std::string(answers[k]), std::string("4"), std::string()}) {
      if (k + 1 == answers.size() && line.empty()) break;  // after the last there is no pause
      if (!terminal.read_to_prompt()) break;
      terminal.type(line + "\n");
    }
  }
  while (terminal.read_to_prompt()) {
  }
  status = terminal.status();
  return terminal.shown;
}

TEST_CASE("on a terminal the whole quiz can be taken in each language") {
  const std::array<std::array<std::string, 3>, 3> languages{
      {{"en", "8 of 8 answers are right.", "Simulating: 0 %"},
       {"hi", "8 में से 8 उत्तर सही हैं।", "सिमुलेशन चल रहा है: 0 %"},
       {"ms", "8 daripada 8 jawapan betul.", "Menjalankan simulasi: 0 %"}}};
  for (const auto& [language, score, progress] : languages) {
    CAPTURE(language);
    const ScratchFolder scratch;
    int status = -1;
    const std::string shown = take({"--lang", language}, scratch.file("state"), status);
    CHECK(status == 0);
    CHECK(has(shown, score));
    CHECK(has(shown, progress));
    CHECK(has(shown, "59.83 GiB"));
    CHECK(has(shown, "█"));
    CHECK(has(shown, "shardsim run quiz/"));
    CHECK_FALSE(has(shown, "{"));
  }
}

TEST_CASE("commands that repeat a run of the quiz work from any folder") {
  for (const char* name : {"quiz/fsdp", "quiz/zero3", "quiz/no-prefetch"}) {
    CHECK(run_program(std::string("run --quiet ") + name).status == 0);
  }
}

TEST_CASE("--plain redraws nothing and draws nothing on a terminal, too") {
  const ScratchFolder scratch;
  int status = -1;
  const std::string shown = take({"--lang", "ms", "--plain"}, scratch.file("state"), status);
  CHECK(status == 0);
  CHECK_FALSE(has(shown, "\x1b"));
  CHECK_FALSE(has(shown, "█"));
  CHECK(has(shown, "8 daripada 8 jawapan betul."));
}

TEST_CASE("an interrupt keeps what was answered, and the quiz goes on from there") {
  const ScratchFolder scratch;
  {
    Terminal terminal({"--lang", "en"}, scratch.file("state"));
    REQUIRE(terminal.read_to_prompt());
    terminal.type("a\n");
    REQUIRE(terminal.read_to_prompt());
    terminal.type("4\n");
    REQUIRE(terminal.read_to_prompt());
    terminal.type("\n");
    REQUIRE(terminal.read_to_prompt());
    terminal.type("\x03");  // Ctrl-C
    while (terminal.read_to_prompt()) {
    }
    CHECK(terminal.status() == 130);
    CHECK(has(terminal.shown, "Your progress is saved"));
  }
  const std::string state = "export XDG_STATE_HOME=" + scratch.file("state");
  ProgramRun run = run_program("quiz --lang en </dev/null", state);
  CHECK(run.status == 0);
  CHECK(has(run.output, "1 question is answered"));
  CHECK_FALSE(has(run.output, "\x1b"));  // no terminal: no colour
  run = run_program("quiz --lang en --restart </dev/null", state);
  CHECK(has(run.output, "Question 1 of 8"));
}

TEST_CASE("solve answers eight of eight from simulation alone, in the documented form") {
  const ProgramRun run = run_program("quiz solve --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  CHECK(has(run.messages, "8 of 8 questions have exactly one supported option"));
  const Json questions = Json::parse(run.output)["questions"];
  const std::array<std::string, 8> right{"state",   "all_gather",     "shard", "zero",
                                         "overlap", "reduce_scatter", "shard", "trade"};
  REQUIRE(questions.size() == right.size());
  for (std::size_t i = 0; i < right.size(); ++i) {
    CHECK(questions[i]["id"] == "q" + std::to_string(i + 1));
    CHECK(questions[i]["answer"] == right[i]);
    REQUIRE(questions[i]["options"].size() == 4);
    for (const Json& option : questions[i]["options"]) {
      const bool supported = option["verdict"] == "supported";
      CHECK(supported == (option["id"] == right[i]));
      CHECK(option["numbers"].empty() == (option["verdict"] == "cited"));
    }
  }
  CHECK(run_program("quiz solve --json -").output == run.output);
  CHECK(Json::parse(run_program("quiz solve --question q5 --json -").output)["questions"].size() ==
        1);
}

TEST_CASE("the command shown repeats the run: its numbers are those of the quiz") {
  const ProgramRun solved = run_program("quiz solve --question q8 --json -");
  REQUIRE(solved.status == 0);
  double exposed = 0;
  const Json verdicts = Json::parse(solved.output);
  for (const Json& option : verdicts["questions"][0]["options"]) {
    for (const Json& number : option["numbers"]) {
      if (number["name"] == "fsdp_50g.exposed") exposed = number["value"];
    }
  }
  const ProgramRun run =
      run_program("run " + shipped_scenario("quiz/fsdp") +
                  " --set cluster.topology=networks/dgx-h200-50g.yaml --quiet --json -");
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  CHECK(Json::parse(run.output)["step"]["exposed_communication_s"] == exposed);
}

TEST_CASE("the page is one file that holds every language, with a policy that forbids requests") {
  const ScratchFolder scratch;
  const ProgramRun run = run_program("quiz web --out " + scratch.file("new/folder"));
  if (run.status == 2 && has(run.messages, "no viewer")) return;  // built without Node.js
  REQUIRE_MESSAGE(run.status == 0, run.messages);
  const std::string file = scratch.file("new/folder/fsdp-quiz.html");
  CHECK(run.output == file + "\n");
  std::ifstream stream(file);
  const std::string page{std::istreambuf_iterator<char>(stream), {}};
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK(has(page, "default-src 'none'"));
  CHECK(has(page, "\"hi\":{\"language\":\"hi\""));
  CHECK(has(page, "\"ms\":{\"language\":\"ms\""));
  CHECK_FALSE(has(page, "{{"));
  CHECK(page.size() < 1'500'000);
}

TEST_CASE("options of the quiz have their effect in each of its commands, or are refused") {
  CHECK(run_program("quiz solve --question q5 --lang hi").output !=
        run_program("quiz solve --question q5 --lang en").output);
  for (const char* arguments :
       {"quiz web --lang hi --out x", "quiz data --lang hi --out -", "quiz solve --plain",
        "quiz solve --restart", "quiz web --plain --out x", "quiz data --restart --out -",
        "quiz export --format gift --out - --plain", "quiz solve --lang fr"}) {
    CAPTURE(arguments);
    const ProgramRun run = run_program(arguments);
    CHECK(run.status == 2);
    CHECK(run.output.empty());
    CHECK(run.messages.starts_with("shardsim quiz: "));
  }
}

TEST_CASE("documents are written in each language; bad arguments end with status 2") {
  for (const char* language : {"en", "hi", "ms"}) {
    const std::string to = std::string(" --out - --lang ") + language;
    const ProgramRun gift = run_program("quiz export --format gift" + to);
    CHECK(gift.status == 0);
    CHECK(has(gift.output, "[plain]"));
    const ProgramRun anki = run_program("quiz export --format anki" + to);
    CHECK(anki.status == 0);
    CHECK(has(anki.output, "#columns:Id,Front,Back,Tags"));
  }
  const ProgramRun data = run_program("quiz data --out -");
  CHECK(data.status == 0);
  CHECK(Json::parse(data.output)["schema"] == "shardsim.quiz-data/1");
  for (const char* bad :
       {"quiz --lang fr", "quiz solve --question q9", "quiz export --format pdf --out -",
        "quiz export --format gift", "quiz web", "quiz web --out /dev/null/x", "quiz solve extra",
        "quiz --data /nonexistent", "quiz solve --data /nonexistent",
        "quiz data --out /nonexistent/file"}) {
    CAPTURE(bad);
    CHECK(run_program(std::string(bad) + " </dev/null").status == 2);
  }
  CHECK(has(run_program("quiz --lang fr </dev/null").messages, "expected en, hi, ms"));
}

}  // namespace
}  // namespace shardsim

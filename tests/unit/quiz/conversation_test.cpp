// The quiz held on a console that a script speaks to.
#include "quiz/session/conversation.hpp"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "tests/unit/quiz/quiz_fixture.hpp"

namespace shardsim::quiz {
namespace {

namespace fs = std::filesystem;

class Talk {
 public:
  Talk() {
    std::string pattern = (fs::temp_directory_path() / "shardsim-quiz-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~Talk() { fs::remove_all(folder_); }
  Talk(const Talk&) = delete;
  Talk& operator=(const Talk&) = delete;

  fs::path file() const { return folder_ / "state/quiz.json"; }

  /// Types the lines in turn, then ends the input; gives what was written.
  std::string hold(const std::vector<std::string>& lines, const std::string& language = "en",
                   bool plain = false) {
    std::string shown;
    std::size_t next = 0;
    Console console;
    console.write = [&shown](const std::string& text) { shown += text; };
    console.read_line = [&]() -> std::optional<std::string> {
      if (next == lines.size()) return std::nullopt;
      return lines[next++];
    };
    console.seconds = [] { return 0.0; };
    console.plots.plain = plain;
    EvidenceRuns runs(shipped_data());
    ending = hold_conversation(shipped_bank(), runs, ProgressFile(file()), {language}, console);
    return shown;
  }

  Ending ending = Ending::failed;

 private:
  fs::path folder_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Answers every question with its `choice`th option from the right one, at confidence `sure`.
std::vector<std::string> script(int from_right, const std::string& sure,
                                std::size_t questions = 8) {
  std::vector<std::string> lines;
  for (std::size_t k = 0; k < questions; ++k) {
    const QuestionSpec& spec = shipped_bank().questions[k].spec;
    int option = 0;
    while (spec.options[static_cast<std::size_t>(option)].id != spec.answer) ++option;
    lines.insert(lines.end(),
                 {std::string(1, static_cast<char>('a' + (option + from_right) % 4)), sure, ""});
  }
  return lines;
}

TEST_CASE("in every language the quiz comes to its end and knows right from wrong") {
  for (const std::string& language : shipped_bank().spec.languages) {
    CAPTURE(language);
    const Words& words = shipped_bank().words.at(language);
    for (const bool plain : {false, true}) {
      Talk talk;
      const std::string shown = talk.hold(script(0, "4"), language, plain);
      CHECK(talk.ending == Ending::finished);
      CHECK(has(shown, words.say("right")));
      CHECK(has(shown, words.say("nothing_to_review")));
      for (const Question& question : shipped_bank().questions) {
        CHECK(has(shown, "shardsim run quiz/" + question.spec.runs.begin()->second.scenario));
      }
      CHECK_FALSE(has(shown, "{"));     // every placeholder is filled
      CHECK_FALSE(has(shown, "\x1b"));  // no colour, nothing redrawn
      CHECK(has(shown, "█") == !plain);
    }
    Talk talk;
    const std::string shown = talk.hold(script(1, "4"), language);
    CHECK_FALSE(has(shown, "\n" + words.say("right") + "\n"));
    CHECK(has(shown, words.say("over_confident")));
  }
}

TEST_CASE("confidence is held against results") {
  Talk talk;
  std::vector<std::string> lines = script(0, "1", 4);
  const std::vector<std::string> wrong = script(1, "3", 8);
  lines.insert(lines.end(), wrong.begin() + 12, wrong.end());
  const std::string shown = talk.hold(lines);
  CHECK(has(shown, "4 of 8 answers are right."));
  CHECK(has(shown, "I am guessing (25 %): 4 of 4 right"));
  CHECK(has(shown, "Rather sure (75 %): 0 of 4 right"));
  CHECK(has(shown, "On average you were 50 % sure and right in 50 % of the answers."));
  CHECK(has(shown, "(right, but unsure)"));
  CHECK(has(shown, "(wrong answer)"));
}

TEST_CASE("junk is answered with what is expected, and asked again") {
  Talk talk;
  const std::string shown =
      talk.hold({"", "e", "ab", "\x1b[31m", std::string(10'000, 'x'), "\xff\xfe", "क", "?", " A\t",
                 "0", "5", "four", "?", "2", "q"});
  CHECK(talk.ending == Ending::stopped);
  CHECK(has(shown, "'e' is none of the answers"));
  CHECK(has(shown, "'four' is no level of confidence"));
  CHECK(has(shown, "Help"));
  CHECK(has(shown, "Right."));
  CHECK_FALSE(has(shown, "\x1b"));
  CHECK_FALSE(has(shown, std::string(100, 'x')));
}

TEST_CASE("it goes on where it was left, in another language too") {
  Talk talk;
  std::string shown = talk.hold({"a", "4", "", "b", "3"});
  CHECK(talk.ending == Ending::stopped);
  CHECK(has(shown, "Your progress is saved"));
  std::vector<std::string> rest = script(0, "4");
  rest.erase(rest.begin(), rest.begin() + 6);
  shown = talk.hold(rest, "ms");
  CHECK(has(shown, "2 soalan sudah dijawab"));
  CHECK_FALSE(has(shown, "Soalan 1 daripada 8"));
  CHECK(talk.ending == Ending::finished);
  shown = talk.hold({}, "hi");
  CHECK(has(shown, "shardsim quiz --restart --lang hi"));
  CHECK(talk.ending == Ending::finished);
}

TEST_CASE("an answer is kept even if input ends at once, a half-given one is not") {
  Talk talk;
  talk.hold({"a", "4"});
  EvidenceRuns unused(shipped_data());
  CHECK(ProgressFile(talk.file()).load(shipped_bank()).progress.answers ==
        std::vector<Answer>{{"q1", "state", 4}});
  talk.hold({"b"});
  CHECK(ProgressFile(talk.file()).load(shipped_bank()).progress.answers.size() == 1);
  CHECK(has(Talk().hold({}), "Question 1 of 8"));
}

TEST_CASE("progress that cannot be read is set aside, never trusted and never fatal") {
  const std::string good = to_json(Progress{{{"q1", "state", 4}}});
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), std::string("null"),
        std::string("{\"schema\": \"other\", \"answers\": []}"), std::string(3 << 20, ' '),
        std::string("{\"schema\": \"shardsim.quiz-progress/1\", \"answers\": 7}"),
        good.substr(0, good.size() / 2), std::string(100'000, '[')}) {
    Talk talk;
    fs::create_directories(talk.file().parent_path());
    std::ofstream(talk.file(), std::ios::binary) << text;
    CHECK(has(talk.hold({"q"}), "was set aside"));
    CHECK(fs::exists(talk.file().string() + ".unreadable"));
  }
}

TEST_CASE("answers that the bank does not know are passed over") {
  const auto read = read_progress(
      R"({"schema": "shardsim.quiz-progress/1", "answers": [
          {"question": "q9", "option": "state", "sure": 1},
          {"question": "q1", "option": "nothing", "sure": 1},
          {"question": "q1", "option": "state", "sure": 5},
          {"question": "q1", "option": "state", "sure": "4"}, 7, {},
          {"question": "q2", "option": "barrier", "sure": 99999999999},
          {"question": "q1", "option": "batch", "sure": 2},
          {"question": "q1", "option": "state", "sure": 2}]})",
      shipped_bank());
  REQUIRE(read);
  CHECK(read->answers == std::vector<Answer>{{"q1", "batch", 2}});
}

TEST_CASE("a place that cannot be written is said, and the quiz goes on") {
  Talk talk;
  fs::create_directories(talk.file().parent_path().parent_path());
  std::ofstream(talk.file().parent_path()) << "a file where the folder should be";
  const std::string shown = talk.hold({"a", "4", ""});
  CHECK(has(shown, "could not be saved"));
  CHECK(has(shown, "Question 2 of 8"));
}

}  // namespace
}  // namespace shardsim::quiz

// The bank as it is shipped, and what is said of one that is wrong.
#include "quiz/bank/question_bank.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/scenario/scenario_spec.hpp"
#include "tests/unit/quiz/quiz_fixture.hpp"

namespace shardsim::quiz {
namespace {

namespace fs = std::filesystem;

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What loading the bank reports after `from` has been replaced by `to` in one of its files.
std::string complaint(const std::string& file, const std::string& from, const std::string& to) {
  std::string pattern = (fs::temp_directory_path() / "shardsim-bank-XXXXXX").string();
  const fs::path folder = mkdtemp(pattern.data());
  for (const auto& entry : fs::directory_iterator(source_folder() + "/quiz/bank")) {
    fs::copy_file(entry.path(), folder / entry.path().filename());
  }
  std::string text = read(folder / file);
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
  std::ofstream(folder / file, std::ios::binary) << text;
  simcore::Diagnostics diagnostics;
  const auto bank = load_question_bank(folder, diagnostics);
  fs::remove_all(folder);
  CHECK_FALSE(bank.has_value());
  return simcore::to_text(diagnostics);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("the bank has eight hard questions of four options, in three languages") {
  const QuestionBank& bank = shipped_bank();
  CHECK(bank.questions.size() == 8);
  for (std::size_t i = 0; i < bank.questions.size(); ++i) {
    CHECK(bank.questions[i].spec.id == "q" + std::to_string(i + 1));
    CHECK(bank.questions[i].spec.level == "hard");
    CHECK(bank.questions[i].spec.options.size() == 4);
    CHECK_FALSE(bank.questions[i].spec.show.empty());
  }
  CHECK(bank.spec.languages == std::vector<std::string>{"en", "hi", "ms"});
}

TEST_CASE("a reason for every option names a number, unless it cites") {
  for (const auto& [language, words] : shipped_bank().words) {
    for (const Question& question : shipped_bank().questions) {
      for (const OptionSpec& option : question.spec.options) {
        CAPTURE(language);
        CAPTURE(question.spec.id);
        CAPTURE(option.id);
        const std::string& reason = words.option(question.spec.id, option.id).reason;
        CHECK(placeholders(reason).empty() == !option.claim.has_value());
      }
    }
  }
}

TEST_CASE("sharded is never shared, and reduce-scatter no plain scatter") {
  const auto all_text = [](const Words& words) {
    std::string text;
    for (const auto& [id, question] : words.questions) {
      text += question.ask + question.explanation;
      for (const auto& [option, wording] : question.options) text += wording.text + wording.reason;
    }
    return text;
  };
  const std::string hindi = all_text(shipped_bank().words.at("hi"));
  const std::string malay = all_text(shipped_bank().words.at("ms"));
  for (const char* shared : {"साझा", "शेयर"}) CHECK_FALSE(has(hindi, shared));
  for (const char* shared : {"kongsi", "Kongsi"}) CHECK_FALSE(has(malay, shared));
  for (const char* term : {"(all-gather)", "(reduce-scatter)", "(shard)"}) {
    CHECK(has(hindi, term));
    CHECK(has(malay, term));
  }
  const auto& options = shipped_bank().words.at("ms").questions.at("q6").options;
  CHECK_FALSE(has(options.at("reduce_scatter").text, "Serak"));
}

TEST_CASE("every text of Hindi is in Devanagari, and none of another language") {
  for (const auto& [language, words] : shipped_bank().words) {
    for (const auto& [id, question] : words.questions) {
      CAPTURE(language);
      CAPTURE(id);
      // U+0904 to U+0939 begin with these two bytes in UTF-8.
      CHECK(has(question.ask, "\xE0\xA4") == (language == "hi"));
      CHECK(has(question.explanation, "\xE0\xA4") == (language == "hi"));
    }
  }
}

TEST_CASE("scenarios and questions name each other") {
  std::set<std::pair<std::string, std::string>> used;
  for (const Question& question : shipped_bank().questions) {
    for (const auto& [name, run] : question.spec.runs) used.emplace(run.scenario, question.spec.id);
  }
  std::set<std::pair<std::string, std::string>> tied;
  for (const auto& entry : fs::directory_iterator(shipped_data().scenarios / "quiz")) {
    if (entry.path().extension() != ".yaml") continue;
    simcore::Diagnostics diagnostics;
    const auto loaded = scenario::load_scenario(entry.path(), {}, diagnostics);
    REQUIRE_MESSAGE(loaded, simcore::to_text(diagnostics));
    for (const std::string& id : loaded->spec.quiz) tied.emplace(entry.path().stem().string(), id);
  }
  CHECK(used == tied);
}

TEST_CASE("what is wrong with questions is reported with its place") {
  const std::string file = "questions.yaml";
  CHECK(has(complaint(file, "answer: state", "answer: nothing"), "is none of the options"));
  CHECK(has(complaint(file, "start: 1", "start: 4"), "none of the slider's steps"));
  CHECK(has(complaint(file, "without: [prefetch]", "without: [fetch]"), "no slider 'fetch'"));
  CHECK(has(complaint(file, "fsdp.tokens < ddp.tokens", "fsdp.tokens < "), "expected run.fact"));
  CHECK(has(complaint(file, "start: 1", "start: 4"), "none of the slider's steps"));
  CHECK(has(complaint(file, "without: [prefetch]", "without: [fetch]"), "no slider 'fetch'"));
  CHECK(has(complaint(file, "fsdp.tokens < ddp.tokens", "fsdp2.tokens < ddp.tokens"),
            "there is no run 'fsdp2'"));
  CHECK(has(complaint(file, "id: batch", "id: state"), "is repeated"));
  CHECK(has(complaint(file, "cites: [mapreduce, fsdp]", "cites: [mapreduse]"), "no source"));
  CHECK(has(complaint(file, "runs: [ddp, fsdp]}", "runs: [ddp, fsdpp]}"), "no run 'fsdpp'"));
  CHECK(has(complaint(file, "change: one_stream", "change: one_steam"), "one_stream"));
  CHECK(has(complaint(file, "answer: state", "answer: nothing"), "questions.yaml:"));
}

TEST_CASE("a language that lacks an id, a placeholder or a plural form is refused") {
  CHECK(has(complaint("hi.yaml", "\nlevels:", "\nstages:"), "levels"));
  CHECK(has(complaint("ms.yaml", "  running:", "  runing:"), "interface: 'running' is missing"));
  CHECK(has(complaint("ms.yaml", "  running:", "  runing:"), "'runing' is not known"));
  CHECK(has(complaint("hi.yaml", "{ddp_state}", "{fsdp_state}"), "other placeholders"));
  CHECK(has(complaint("en.yaml", "{ddp_state}", "{ddp_stat}"), "which is no value"));
  CHECK(has(complaint("hi.yaml", "{count: n, one: ", "{count: n, two: "), "two"));
  CHECK(has(complaint("ms.yaml", "{count: n, other: ", "{count: n, one: \"x\", other: "),
            "plural forms"));
  CHECK(has(complaint("ms.yaml", "  begin:", "  began:"), "page: 'begin' is missing"));
  CHECK(has(complaint("hi.yaml", "  bandwidth:", "  breadth:"), "sliders: 'bandwidth' is missing"));
  CHECK(has(complaint("ms.yaml", "prefetch_off:", "prefetch_none:"), "'prefetch_off' is missing"));
  CHECK(has(complaint("ms.yaml", "  fsdp_8: ", "  fsdp_9: "), "runs: 'fsdp_8' is missing"));
}

}  // namespace
}  // namespace shardsim::quiz

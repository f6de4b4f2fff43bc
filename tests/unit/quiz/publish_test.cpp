// Exports for other programs, the document for the page, and the spans that both draw.
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "quiz/publish/exports.hpp"
#include "quiz/publish/quiz_data.hpp"
#include "quiz/show/step_spans.hpp"
#include "tests/unit/quiz/quiz_fixture.hpp"

namespace shardsim::quiz {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<AnsweredQuestion>& answered() {
  static const std::vector<AnsweredQuestion> all = *answer_all(shipped_bank(), shared_runs());
  return all;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST_CASE("GIFT has eight questions with one right and three wrong options, all with a reason") {
  for (const auto& [language, words] : shipped_bank().words) {
    CAPTURE(language);
    const std::string gift = to_gift(answered(), words);
    CHECK(count(gift, "\n\t=") == 8);
    CHECK(count(gift, "\n\t~") == 24);
    CHECK(count(gift, "\n\t####") == 8);
    CHECK(count(gift, "[plain]") == 8);
    // Braces that are not escaped are those around the answers: no placeholder is left.
    CHECK(count(gift, "{") - count(gift, "\\{") == 8);
    CHECK(gift.find("59.83 GiB") != std::string::npos);
  }
}

TEST_CASE("GIFT's own characters are escaped in texts") {
  Words words = shipped_bank().words.at("en");
  words.questions.at("q1").ask = "a = {b} ~ c # d : e \\ f\ng";
  const std::string gift = to_gift(answered(), words);
  CHECK(gift.find("a \\= \\{b\\} \\~ c \\# d \\: e \\\\ f\\ng") != std::string::npos);
}

TEST_CASE("Anki's CSV has a card a line with four fields, quotes doubled and markup escaped") {
  Words words = shipped_bank().words.at("hi");
  words.questions.at("q1").ask = "say \"<b>\" & go";
  const std::string csv = to_anki_csv(answered(), words);
  CHECK(csv.starts_with("#separator:Comma\n#html:true\n"));
  CHECK(count(csv, "\n\"shardsim-hi-q") == 8);
  CHECK(count(csv, "\",\"") == 24);
  CHECK(csv.find("say &quot;&lt;b&gt;&quot; &amp; go") != std::string::npos);
  CHECK(csv.find('{') == std::string::npos);
}

TEST_CASE("the data document holds questions, words, values and runs, and is the same every time") {
  const std::string text = to_quiz_data(shipped_bank(), answered(), "scenarios", "1.2.3");
  EvidenceRuns fresh(shipped_data());
  const auto again = answer_all(shipped_bank(), fresh);
  REQUIRE(again);
  CHECK(to_quiz_data(shipped_bank(), *again, "scenarios", "1.2.3") == text);
  const Json data = Json::parse(text);
  CHECK(data["schema"] == "shardsim.quiz-data/1");
  CHECK(data["version"] == "1.2.3");
  CHECK(data["languages"].size() == 3);
  CHECK(text.find(source_folder()) == std::string::npos);
  REQUIRE(data["questions"].size() == 8);
  for (const Json& question : data["questions"]) {
    CHECK(question["answer"] == question["solved"]);
    for (const auto& [name, run] : question["runs"].items()) {
      REQUIRE(run.get<std::size_t>() < data["runs"].size());
      for (const auto& language : data["languages"]) CHECK(language["runs"].contains(name));
    }
    for (const Json& view : question["show"]) {
      for (const Json& name : view["runs"]) {
        const Json& run =
            data["runs"][question["runs"][name.get<std::string>()].get<std::size_t>()];
        if (view["kind"] == "timeline") CHECK(run["streams"]["operations"] > 1000);
        if (view["kind"] == "memory") CHECK(run["memory_ns"].size() > 50);
        if (view["kind"] == "curve") CHECK(run["facts"].contains(view["x"].get<std::string>()));
      }
    }
  }
  CHECK(data["questions"][0]["values"]["ddp_state"]["text"]["hi"] == "59.83 GiB");
  CHECK(text.size() < 2'000'000);
}

Span span(std::int64_t from, std::int64_t to) {
  return {simcore::SimTime::nanoseconds(from), simcore::SimTime::nanoseconds(to)};
}

TEST_CASE("spans are united, taken from one another, and cover columns") {
  CHECK(united({span(5, 6), span(0, 2), span(1, 3), span(3, 4), span(7, 7)}) ==
        Spans{span(0, 4), span(5, 6)});
  CHECK(without({span(0, 10)}, {span(2, 3), span(5, 12)}) == Spans{span(0, 2), span(3, 5)});
  CHECK(without({span(0, 2), span(4, 6)}, {span(1, 5)}) == Spans{span(0, 1), span(5, 6)});
  CHECK(without({span(0, 2)}, {}) == Spans{span(0, 2)});
  CHECK(without({span(0, 2)}, {span(0, 2)}).empty());
  const auto shares = coverage({span(0, 10), span(25, 40)}, simcore::SimTime::nanoseconds(40), 4);
  CHECK(shares == std::vector<double>{1, 0, 0.5, 1});
  CHECK(coverage({}, {}, 3) == std::vector<double>{0, 0, 0});
}

TEST_CASE("what is exposed in the picture is what the result says the GPU waits for, or less") {
  const auto run = shared_runs().get({"fsdp", {}, ProgramChange::none});
  REQUIRE(run);
  const StepSpans spans = spans_of((*run)->output.logs.front());
  double exposed = 0;
  for (const Span& one : spans.exposed) exposed += (one.to - one.from).seconds();
  const double waited = (*run)->facts.find("exposed")->second.value;
  CHECK(exposed <= waited * 1.001);
  CHECK(exposed > 0.5 * waited);
}

}  // namespace
}  // namespace shardsim::quiz

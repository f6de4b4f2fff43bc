#include "quiz/evidence/verdict.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace shardsim::quiz {

using Json = nlohmann::ordered_json;

namespace {

std::expected<OptionVerdict, std::string> judge_option(const OptionSpec& option,
                                                       const std::optional<Expression>& claim,
                                                       const RunFacts& facts) {
  OptionVerdict made;
  made.id = option.id;
  made.cites = option.cites;
  if (!claim) return made;
  const auto value = claim->evaluate(facts);
  if (!value) return std::unexpected(value.error());
  const bool* holds = std::get_if<bool>(&*value);
  if (holds == nullptr) return std::unexpected(std::string("the claim is no comparison"));
  made.verdict = *holds ? Verdict::supported : Verdict::refuted;
  made.claim = claim->text();
  for (const std::string& name : claim->names()) {
    made.numbers.push_back({name, *find_fact(facts, name)});
  }
  return made;
}

}  // namespace

std::expected<QuestionVerdict, std::string> judge(const Question& question, const RunFacts& facts) {
  QuestionVerdict made;
  made.id = question.spec.id;
  int supported = 0;
  for (std::size_t i = 0; i < question.spec.options.size(); ++i) {
    auto option = judge_option(question.spec.options[i], question.claims[i], facts);
    if (!option) {
      return std::unexpected(question.spec.id + "." + question.spec.options[i].id + ": " +
                             option.error());
    }
    if (option->verdict == Verdict::supported && ++supported == 1) made.answer = option->id;
    made.options.push_back(std::move(*option));
  }
  if (supported != 1) made.answer.clear();
  return made;
}

std::expected<std::map<std::string, Quantity>, std::string> values_of(const Question& question,
                                                                      const RunFacts& facts) {
  std::map<std::string, Quantity> values;
  for (const auto& [name, expression] : question.values) {
    const auto value = expression.evaluate(facts);
    if (!value) return std::unexpected(question.spec.id + ": " + name + ": " + value.error());
    const Quantity* number = std::get_if<Quantity>(&*value);
    if (number == nullptr) return std::unexpected(question.spec.id + ": " + name + " is no number");
    values[name] = *number;
  }
  return values;
}

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::supported:
      return "supported";
    case Verdict::refuted:
      return "refuted";
    case Verdict::cited:
      return "cited";
  }
  return "cited";
}

const char* unit_name(const Dimension& dimension) {
  return dimension == in_bytes ? "bytes" : dimension == in_seconds ? "s" : "";
}

std::string to_json(const std::vector<QuestionVerdict>& verdicts) {
  Json questions = Json::array();
  for (const QuestionVerdict& verdict : verdicts) {
    Json options = Json::array();
    for (const OptionVerdict& option : verdict.options) {
      Json numbers = Json::array();
      for (const NamedQuantity& number : option.numbers) {
        numbers.push_back({{"name", number.name},
                           {"value", number.quantity.value},
                           {"unit", unit_name(number.quantity.dimension)}});
      }
      options.push_back({{"id", option.id},
                         {"verdict", verdict_name(option.verdict)},
                         {"claim", option.claim},
                         {"numbers", std::move(numbers)},
                         {"cites", option.cites}});
    }
    questions.push_back(
        {{"id", verdict.id}, {"answer", verdict.answer}, {"options", std::move(options)}});
  }
  return Json{{"schema", "shardsim.quiz-verdicts/1"}, {"questions", std::move(questions)}}.dump(1) +
         "\n";
}

}  // namespace shardsim::quiz

#include "quiz/publish/quiz_page.hpp"

#include <nlohmann/json.hpp>

#include "quiz/publish/quiz_data.hpp"
#include "report/page.hpp"

namespace shardsim::quiz {

std::expected<std::string, std::string> to_quiz_page(const QuestionBank& bank,
                                                     const std::vector<AnsweredQuestion>& questions,
                                                     const std::string& version,
                                                     std::string_view module) {
  const Recording recording = module.empty() ? Recording::full : Recording::facts;
  const std::string data = to_quiz_data(bank, questions, "scenarios", version, recording);
  const Words& first = bank.words.at(bank.spec.languages.front());
  return report::fill_quiz_page(first.say("title"), nlohmann::ordered_json::parse(data), module);
}

}  // namespace shardsim::quiz

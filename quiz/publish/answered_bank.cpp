#include "quiz/publish/answered_bank.hpp"

namespace shardsim::quiz {

std::expected<std::vector<AnsweredQuestion>, std::string> answer_all(
    const QuestionBank& bank, EvidenceRuns& runs, const std::function<void(double)>& progress) {
  std::vector<AnsweredQuestion> answered;
  for (const Question& question : bank.questions) {
    if (progress) {
      progress(static_cast<double>(answered.size()) / static_cast<double>(bank.questions.size()));
    }
    auto carried_out = runs.all(question.spec);
    if (!carried_out) return std::unexpected(carried_out.error());
    const RunFacts facts = facts_of(*carried_out);
    auto verdict = judge(question, facts);
    if (!verdict) return std::unexpected(verdict.error());
    auto values = values_of(question, facts);
    if (!values) return std::unexpected(values.error());
    answered.push_back(
        {&question, std::move(*carried_out), std::move(*verdict), std::move(*values)});
  }
  return answered;
}

Fillings write_out(const std::map<std::string, Quantity>& values, const LanguageRules& rules) {
  Fillings fillings;
  for (const auto& [name, value] : values) {
    fillings[name] = {quantity_text(rules, value), value.value};
  }
  return fillings;
}

}  // namespace shardsim::quiz

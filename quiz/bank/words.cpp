#include "quiz/bank/words.hpp"

namespace shardsim::quiz {

using simcore::Fields;

void OptionWords::describe(Fields<OptionWords>& fields) {
  fields.required("text", &OptionWords::text, "The option.");
  fields.required("reason", &OptionWords::reason, "Why it is right or wrong.");
}

void QuestionWords::describe(Fields<QuestionWords>& fields) {
  fields.required("ask", &QuestionWords::ask, "The question.");
  fields.required("explanation", &QuestionWords::explanation, "What is so, and why.");
  fields.required("options", &QuestionWords::options, "By id.");
}

void Words::describe(Fields<Words>& fields) {
  fields.required("language", &Words::language, "Its tag (BCP 47).");
  fields.required("name", &Words::name, "The language's name in itself.");
  fields.optional("direction", &Words::direction, "Of writing.");
  fields.required("plural", &Words::plural, "Which numbers take the form `one`.");
  fields.required("grouping", &Words::grouping, "Of digits.");
  fields.required("interface", &Words::interface, "What the quiz itself says.");
  fields.required("page", &Words::page, "What only the page says.");
  fields.required("sliders", &Words::sliders, "What the page lets one change.");
  fields.required("verdicts", &Words::verdicts, "What runs say of an option.");
  fields.required("labels", &Words::labels, "Of plots and tables.");
  fields.required("facts", &Words::facts, "What runs measure.");
  fields.required("runs", &Words::runs, "The runs of the questions.");
  fields.required("concepts", &Words::concepts, "What questions are about.");
  fields.required("levels", &Words::levels, "How hard they are.");
  fields.required("help", &Words::help, "Paragraphs of help.");
  fields.required("questions", &Words::questions, "By id.");
}

std::string Words::say(std::string_view key, const Fillings& fillings) const {
  const auto found = interface.find(std::string(key));
  return found == interface.end() ? std::string(key) : fill(found->second, fillings, rules());
}

std::string Words::name_of_fact(const std::string& full) const {
  const std::size_t dot = full.find('.');
  if (dot == std::string::npos) return full;
  const auto run = runs.find(full.substr(0, dot));
  const auto fact = facts.find(full.substr(dot + 1));
  return run == runs.end() || fact == facts.end() ? full : run->second + ": " + fact->second;
}

const OptionWords& Words::option(const std::string& question, const std::string& option) const {
  return questions.at(question).options.at(option);
}

}  // namespace shardsim::quiz

#include "quiz/publish/exports.hpp"

#include <fmt/format.h>

#include "simcore/output/html_text.hpp"

namespace shardsim::quiz {

namespace {

/// Characters that GIFT gives a meaning are written with a backslash.
std::string gift_text(std::string_view text) {
  std::string made;
  for (const char c : text) {
    if (c == '\n') {
      made += "\\n";
      continue;
    }
    if (std::string_view("\\~=#{}:").find(c) != std::string_view::npos) made += '\\';
    made += c;
  }
  return made;
}

/// A field of CSV: in quotes, and those within doubled.
std::string csv_field(std::string_view text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"') made += '"';
    made += c;
  }
  return made + "\"";
}

std::string letter(std::size_t option) {
  return std::string(1, static_cast<char>('a' + static_cast<int>(option)));
}

std::string anki_card(const AnsweredQuestion& answered, const Words& words) {
  const QuestionSpec& spec = answered.question->spec;
  const QuestionWords& texts = words.questions.at(spec.id);
  const Fillings fillings = write_out(answered.values, words.rules());
  const auto html = [](const std::string& text) { return simcore::html_text(text); };
  std::string front = html(texts.ask) + "<ol type=\"a\">";
  std::string reasons = "<ul>";
  std::string answer;
  for (std::size_t i = 0; i < spec.options.size(); ++i) {
    const OptionWords& option = texts.options.at(spec.options[i].id);
    front += "<li>" + html(option.text) + "</li>";
    reasons += "<li>" + letter(i) + ") " + html(fill(option.reason, fillings)) + "</li>";
    if (spec.options[i].id == spec.answer) answer = letter(i) + ") " + html(option.text);
  }
  const std::string back = "<p><b>" + answer + "</b></p><p>" +
                           html(fill(texts.explanation, fillings)) + "</p>" + reasons + "</ul>";
  return csv_field("shardsim-" + words.language + "-" + spec.id) + "," +
         csv_field(front + "</ol>") + "," + csv_field(back) + "," +
         csv_field("shardsim FSDP " + spec.concept_id + " " + words.language) + "\n";
}

}  // namespace

std::string to_gift(const std::vector<AnsweredQuestion>& questions, const Words& words) {
  std::string made = "// " + words.say("title") + "\n\n";
  for (const AnsweredQuestion& answered : questions) {
    const QuestionSpec& spec = answered.question->spec;
    const QuestionWords& texts = words.questions.at(spec.id);
    const Fillings fillings = write_out(answered.values, words.rules());
    made += fmt::format("::{} {}::[plain]{} {{\n", gift_text(spec.id),
                        gift_text(words.concepts.at(spec.concept_id)), gift_text(texts.ask));
    for (const OptionSpec& option : spec.options) {
      const OptionWords& text = texts.options.at(option.id);
      made += fmt::format("\t{}{}#{}\n", option.id == spec.answer ? "=" : "~", gift_text(text.text),
                          gift_text(fill(text.reason, fillings)));
    }
    made += fmt::format("\t####{}\n}}\n\n", gift_text(fill(texts.explanation, fillings)));
  }
  return made;
}

std::string to_anki_csv(const std::vector<AnsweredQuestion>& questions, const Words& words) {
  std::string made =
      "#separator:Comma\n#html:true\n#notetype:Basic\n#columns:Id,Front,Back,Tags\n"
      "#guid column:1\n#tags column:4\n";
  for (const AnsweredQuestion& answered : questions) made += anki_card(answered, words);
  return made;
}

}  // namespace shardsim::quiz

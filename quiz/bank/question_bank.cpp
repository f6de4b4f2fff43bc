#include "quiz/bank/question_bank.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace shardsim::quiz {

using simcore::ConfigNode;
using simcore::Diagnostics;

namespace {

/// Compiles one question's expressions; errors point at their text.
class QuestionReader {
 public:
  QuestionReader(const BankSpec& bank, const ConfigNode& node, Diagnostics& diagnostics)
      : bank_(bank), node_(node), diagnostics_(diagnostics) {}

  Question read(QuestionSpec spec) {
    Question made;
    made.spec = std::move(spec);
    read_options(made);
    for (const auto& [name, text] : made.spec.values) {
      if (auto value = compile(made.spec, text, *node_.find("values")->find(name))) {
        made.values.emplace(name, std::move(*value));
      }
    }
    for (std::size_t i = 0; i < made.spec.show.size(); ++i) {
      const ConfigNode& view = node_.find("show")->items()[i];
      for (const std::string& run : made.spec.show[i].runs) {
        if (!made.spec.runs.contains(run)) error(view, "there is no run '" + run + "'");
      }
    }
    return made;
  }

 private:
  void error(const ConfigNode& node, const std::string& message) {
    diagnostics_.error(node.where(), message);
  }

  void read_options(Question& made) {
    std::set<std::string> ids;
    for (std::size_t i = 0; i < made.spec.options.size(); ++i) {
      const OptionSpec& option = made.spec.options[i];
      const ConfigNode& node = node_.find("options")->items()[i];
      if (!ids.insert(option.id).second) error(node, "the option '" + option.id + "' is repeated");
      if (!option.claim && option.cites.empty()) {
        error(node, "expected a claim, or sources that it cites");
      }
      for (const std::string& source : option.cites) {
        if (!bank_.sources.contains(source)) error(node, "there is no source '" + source + "'");
      }
      made.claims.push_back(option.claim ? compile(made.spec, *option.claim, *node.find("claim"))
                                         : std::nullopt);
    }
    if (!ids.contains(made.spec.answer)) {
      error(*node_.find("answer"), "'" + made.spec.answer + "' is none of the options");
    }
  }

  std::optional<Expression> compile(const QuestionSpec& spec, const std::string& text,
                                    const ConfigNode& node) {
    auto made = Expression::parse(text);
    if (!made) {
      error(node, fmt::format("{} at '{}'", made.error().message,
                              text.substr(std::min(made.error().offset, text.size()))));
      return std::nullopt;
    }
    for (const std::string& name : made->names()) {
      const std::string run = name.substr(0, name.find('.'));
      if (!spec.runs.contains(run)) error(node, "there is no run '" + run + "'");
    }
    return std::move(*made);
  }

  const BankSpec& bank_;
  const ConfigNode& node_;
  Diagnostics& diagnostics_;
};

/// Holds one language against the questions and the first language.
class WordsCheck {
 public:
  WordsCheck(const QuestionBank& bank, const Words& first, const Words& words,
             const ConfigNode& root, Diagnostics& diagnostics)
      : bank_(bank), first_(first), words_(words), root_(root), diagnostics_(diagnostics) {}

  void run() {
    same_keys("interface", first_.interface, words_.interface);
    same_keys("page", first_.page, words_.page);
    same_keys("sliders", first_.sliders, words_.sliders);
    same_keys("verdicts", first_.verdicts, words_.verdicts);
    same_keys("labels", first_.labels, words_.labels);
    same_keys("facts", first_.facts, words_.facts);
    same_keys("runs", first_.runs, words_.runs);
    check_names();
    same_keys("concepts", first_.concepts, words_.concepts);
    same_keys("levels", first_.levels, words_.levels);
    same_keys("help", first_.help, words_.help);
    same_keys("questions", first_.questions, words_.questions);
    check_phrases("interface", first_.interface, words_.interface);
    check_phrases("page", first_.page, words_.page);
    same_placeholders("help", first_.help, words_.help);
    same_placeholders("labels", first_.labels, words_.labels);
    for (const Question& question : bank_.questions) check_question(question);
  }

 private:
  void error(const std::string& message) {
    diagnostics_.error(root_.where(), message + " (" + words_.language + ")");
  }

  template <class Map>
  void same_keys(const char* section, const Map& first, const Map& words) {
    for (const auto& [key, value] : first) {
      if (!words.contains(key)) error(fmt::format("{}: '{}' is missing", section, key));
    }
    for (const auto& [key, value] : words) {
      if (!first.contains(key)) error(fmt::format("{}: '{}' is not known", section, key));
    }
  }

  /// What is shown has a name: every run, and every fact that a claim or a curve uses.
  void check_names() {
    std::set<std::string> facts;
    for (const Question& question : bank_.questions) {
      for (const auto& [run, spec] : question.spec.runs) {
        if (!words_.runs.contains(run)) error("runs: '" + run + "' is missing");
      }
      for (const auto& claim : question.claims) {
        if (!claim) continue;
        for (const std::string& name : claim->names()) {
          facts.insert(name.substr(name.find('.') + 1));
        }
      }
      for (const ViewSpec& view : question.spec.show) {
        facts.insert(view.facts.begin(), view.facts.end());
        if (view.x) facts.insert(*view.x);
      }
    }
    for (const SliderSpec& slider : bank_.spec.explore.sliders) {
      if (!words_.sliders.contains(slider.id)) error("sliders: '" + slider.id + "' is missing");
      for (const SliderStep& step : slider.steps) {
        if (step.word && !words_.labels.contains(*step.word)) {
          error("labels: '" + *step.word + "' is missing");
        }
      }
    }
    for (const std::string& fact : facts) {
      if (!words_.facts.contains(fact)) error("facts: '" + fact + "' is missing");
    }
  }

  void check_phrases(const char* section, const std::map<std::string, Phrase>& first,
                     const std::map<std::string, Phrase>& words) {
    for (const auto& [key, phrase] : words) {
      const auto found = first.find(key);
      if (found == first.end()) continue;
      if (placeholders(found->second) != placeholders(phrase)) {
        error(fmt::format("{}: '{}' has other placeholders than the first language", section, key));
      }
      const bool needs_one = phrase.counts() && words_.plural != PluralRule::single;
      if (needs_one == phrase.one.empty() && phrase.counts()) {
        error(fmt::format("{}: '{}' has not its language's plural forms", section, key));
      }
    }
  }

  void same_placeholders(const char* section, const std::map<std::string, std::string>& first,
                         const std::map<std::string, std::string>& words) {
    for (const auto& [key, text] : words) {
      const auto found = first.find(key);
      if (found != first.end() && placeholders(found->second) != placeholders(text)) {
        error(fmt::format("{}: '{}' has other placeholders than the first language", section, key));
      }
    }
  }

  void check_question(const Question& question) {
    const std::string& id = question.spec.id;
    const auto found = words_.questions.find(id);
    if (found == words_.questions.end())
      return error("there are no words for question '" + id + "'");
    if (!words_.concepts.contains(question.spec.concept_id)) {
      error("concepts: '" + question.spec.concept_id + "' is missing");
    }
    if (!words_.levels.contains(question.spec.level)) {
      error("levels: '" + question.spec.level + "' is missing");
    }
    const QuestionWords& words = found->second;
    const auto reference = first_.questions.find(id);
    if (reference == first_.questions.end()) return;
    check_text(question, "explanation", reference->second.explanation, words.explanation);
    for (const OptionSpec& option : question.spec.options) {
      const auto text = words.options.find(option.id);
      if (text == words.options.end()) {
        error(fmt::format("{}: option '{}' is missing", id, option.id));
        continue;
      }
      const auto model = reference->second.options.find(option.id);
      if (model == reference->second.options.end()) continue;
      check_text(question, option.id, model->second.reason, text->second.reason);
    }
    if (words.options.size() > question.spec.options.size()) error(id + ": options that are none");
  }

  void check_text(const Question& question, const std::string& what, const std::string& model,
                  const std::string& text) {
    const std::vector<std::string> used = placeholders(text);
    if (used != placeholders(model)) {
      error(fmt::format("{}: '{}' has other placeholders than the first language", question.spec.id,
                        what));
    }
    for (const std::string& name : used) {
      if (!question.values.contains(name)) {
        error(fmt::format("{}: '{}' names '{}', which is no value", question.spec.id, what, name));
      }
    }
  }

  const QuestionBank& bank_;
  const Words& first_;
  const Words& words_;
  const ConfigNode& root_;
  Diagnostics& diagnostics_;
};

void read_questions(QuestionBank& bank, const ConfigNode& root, Diagnostics& diagnostics) {
  std::set<std::string> ids;
  for (std::size_t i = 0; i < bank.spec.questions.size(); ++i) {
    const ConfigNode& node = root.find("questions")->items()[i];
    const std::string& id = bank.spec.questions[i].id;
    if (!ids.insert(id).second) {
      diagnostics.error(node.where(), "the question '" + id + "' is repeated");
    }
    bank.questions.push_back(
        QuestionReader(bank.spec, node, diagnostics).read(bank.spec.questions[i]));
  }
}

void check_sliders(const ExplorationSpec& explore, const ConfigNode& root,
                   Diagnostics& diagnostics) {
  std::set<std::string> ids;
  for (const SliderSpec& slider : explore.sliders) ids.insert(slider.id);
  for (std::size_t i = 0; i < explore.sliders.size(); ++i) {
    const SliderSpec& slider = explore.sliders[i];
    const ConfigNode& node = root.find("explore")->find("sliders")->items()[i];
    if (slider.start < 0 || slider.start >= std::ssize(slider.steps)) {
      diagnostics.error(node.where(), "'start' is none of the slider's steps");
    }
    for (const SliderStep& step : slider.steps) {
      for (const std::string& other : step.without) {
        if (!ids.contains(other)) {
          diagnostics.error(node.where(), "there is no slider '" + other + "'");
        }
      }
    }
  }
}

}  // namespace

const Question* QuestionBank::find(const std::string& id) const {
  const auto found = std::ranges::find(questions, id, [](const Question& q) { return q.spec.id; });
  return found == questions.end() ? nullptr : &*found;
}

std::optional<QuestionBank> load_question_bank(const std::filesystem::path& folder,
                                               Diagnostics& diagnostics) {
  const auto root = simcore::read_yaml_file(folder / "questions.yaml", diagnostics);
  if (!root) return std::nullopt;
  QuestionBank bank;
  bank.spec = simcore::read_config<BankSpec>(*root, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  read_questions(bank, *root, diagnostics);
  check_sliders(bank.spec.explore, *root, diagnostics);
  std::map<std::string, ConfigNode> roots;
  for (const std::string& language : bank.spec.languages) {
    const auto words = simcore::read_yaml_file(folder / (language + ".yaml"), diagnostics);
    if (!words) continue;
    bank.words[language] = simcore::read_config<Words>(*words, diagnostics);
    roots[language] = *words;
  }
  if (diagnostics.has_errors()) return std::nullopt;
  const Words& first = bank.words.at(bank.spec.languages.front());
  for (const auto& [language, words] : bank.words) {
    WordsCheck(bank, first, words, roots.at(language), diagnostics).run();
  }
  if (diagnostics.has_errors()) return std::nullopt;
  return bank;
}

}  // namespace shardsim::quiz

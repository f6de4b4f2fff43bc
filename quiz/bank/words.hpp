// The words of one language: quiz/bank/LANGUAGE.yaml, under the ids of questions.yaml.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "quiz/text/phrase.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::quiz {

struct OptionWords {
  std::string text;
  /// Why it is right or wrong, with the numbers that say so.
  std::string reason;
  static void describe(simcore::Fields<OptionWords>& fields);
};

struct QuestionWords {
  std::string ask;
  std::string explanation;
  std::map<std::string, OptionWords> options;
  static void describe(simcore::Fields<QuestionWords>& fields);
};

enum class Direction : std::uint8_t { ltr, rtl };

struct Words {
  std::string language;  ///< BCP 47, for `lang`
  std::string name;      ///< the language in itself
  Direction direction = Direction::ltr;
  PluralRule plural = PluralRule::only_one;
  Grouping grouping = Grouping::thousands;
  std::map<std::string, Phrase> interface;
  std::map<std::string, Phrase> page;           ///< what only the page says
  std::map<std::string, std::string> sliders;   ///< by SliderSpec::id
  std::map<std::string, std::string> verdicts;  ///< supported, refuted, cited
  std::map<std::string, std::string> labels;    ///< of plots and tables
  std::map<std::string, std::string> facts;     ///< names of what runs measure
  std::map<std::string, std::string> runs;      ///< names of runs, by their names in questions
  std::map<std::string, std::string> concepts;  ///< by QuestionSpec::concept_id
  std::map<std::string, std::string> levels;
  std::map<std::string, std::string> help;
  std::map<std::string, QuestionWords> questions;
  static void describe(simcore::Fields<Words>& fields);

  LanguageRules rules() const { return {plural, grouping}; }
  /// The phrase of the interface, filled; the key itself if there is none.
  std::string say(std::string_view key, const Fillings& fillings = {}) const;
  /// "FSDP, 8 GPUs: optimizer states" for "fsdp_8.optimizer".
  std::string name_of_fact(const std::string& full) const;
  /// The option of a loaded bank's question.
  const OptionWords& option(const std::string& question, const std::string& option) const;
};

}  // namespace shardsim::quiz

namespace shardsim::simcore {

template <>
struct EnumNames<quiz::Direction> {
  static constexpr auto values = std::to_array<EnumName<quiz::Direction>>(
      {{"ltr", quiz::Direction::ltr}, {"rtl", quiz::Direction::rtl}});
};

}  // namespace shardsim::simcore

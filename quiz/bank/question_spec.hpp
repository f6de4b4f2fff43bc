// The language-neutral half of the question bank: what is asked, by id, and what would decide it.
//
// quiz/bank/questions.yaml. Texts are in words.hpp, under the same ids. An option carries a claim
// (expression.hpp): what simulations would show if the option were true. History is no matter of
// simulation: such an option cites instead.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quiz/evidence/program_change.hpp"
#include "simcore/config/fields.hpp"

namespace shardsim::quiz {

/// A run that a question rests on.
struct RunSpec {
  std::string scenario;          ///< file NAME.yaml in scenarios/quiz
  std::vector<std::string> set;  ///< KEY=VALUE, as --set takes it
  ProgramChange change = ProgramChange::none;

  bool operator==(const RunSpec&) const = default;
  static void describe(simcore::Fields<RunSpec>& fields);
};

struct OptionSpec {
  std::string id;
  std::optional<std::string> claim;
  std::vector<std::string> cites;  ///< keys of BankSpec::sources
  static void describe(simcore::Fields<OptionSpec>& fields);
};

enum class ViewKind : std::uint8_t {
  memory,    ///< a bar of memory for each run, split by kind
  timeline,  ///< streams over the step, what is exposed marked
  curve,     ///< `facts` against a number that grows over the runs
  bars,      ///< each of `facts` in all runs
};

/// How evidence is shown.
struct ViewSpec {
  ViewKind kind = ViewKind::memory;
  std::vector<std::string> runs;
  /// curve: the fact on the x axis.
  std::optional<std::string> x;
  std::vector<std::string> facts;
  static void describe(simcore::Fields<ViewSpec>& fields);
};

struct QuestionSpec {
  std::string id;
  std::string concept_id;  ///< key `concept`
  std::string level;
  std::string guide;   ///< link
  std::string answer;  ///< id of the right option: for marking, never for solving
  std::map<std::string, RunSpec> runs;
  std::vector<OptionSpec> options;
  std::map<std::string, std::string> values;  ///< expressions that texts name in braces
  std::vector<ViewSpec> show;
  static void describe(simcore::Fields<QuestionSpec>& fields);
};

struct SourceSpec {
  std::string title;
  std::string url;
  static void describe(simcore::Fields<SourceSpec>& fields);
};

/// A position of a slider: what it makes of the scenario.
struct SliderStep {
  std::string name;                     ///< the same in every language
  std::optional<std::string> word;      ///< key of `labels` that stands instead of the name
  std::optional<std::string> scenario;  ///< another file of scenarios/quiz
  std::vector<std::string> set;         ///< KEY=VALUE, as --set takes it
  std::vector<std::string> without;     ///< ids of sliders that mean nothing then
  static void describe(simcore::Fields<SliderStep>& fields);
};

struct SliderSpec {
  std::string id;
  std::int64_t start = 0;  ///< index of the step that it stands on at first
  std::vector<SliderStep> steps;
  static void describe(simcore::Fields<SliderSpec>& fields);
};

/// What a learner may change once a question is answered.
struct ExplorationSpec {
  std::string scenario;
  std::vector<SliderSpec> sliders;
  static void describe(simcore::Fields<ExplorationSpec>& fields);
};

struct BankSpec {
  std::string guide;  ///< link to the guide that the quiz belongs to
  std::vector<std::string> languages;
  std::map<std::string, SourceSpec> sources;
  std::vector<QuestionSpec> questions;
  ExplorationSpec explore;
  static void describe(simcore::Fields<BankSpec>& fields);
};

}  // namespace shardsim::quiz

namespace shardsim::simcore {

template <>
struct EnumNames<quiz::ViewKind> {
  static constexpr auto values =
      std::to_array<EnumName<quiz::ViewKind>>({{"bars", quiz::ViewKind::bars},
                                               {"memory", quiz::ViewKind::memory},
                                               {"timeline", quiz::ViewKind::timeline},
                                               {"curve", quiz::ViewKind::curve}});
};

}  // namespace shardsim::simcore

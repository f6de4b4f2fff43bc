// The whole bank, read and checked: questions, their compiled claims, and the words of every
// language.
//
// What can be wrong beyond one file's own text is found here and reported with its place: a claim
// that does not parse or names a run that the question does not have, an answer that is no option,
// an id that a language lacks or has too much, and texts whose placeholders differ from the first
// language's or that have no value.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quiz/bank/question_spec.hpp"
#include "quiz/bank/words.hpp"
#include "quiz/evidence/expression.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::quiz {

struct Question {
  QuestionSpec spec;
  std::vector<std::optional<Expression>> claims;  ///< by option
  std::map<std::string, Expression> values;       ///< by placeholder
};

struct QuestionBank {
  BankSpec spec;
  std::vector<Question> questions;
  std::map<std::string, Words> words;  ///< by language

  /// Null if there is no such question.
  const Question* find(const std::string& id) const;
};

/// Reads questions.yaml and a file of words for each language in `folder`. Nothing if `diagnostics`
/// received an error.
std::optional<QuestionBank> load_question_bank(const std::filesystem::path& folder,
                                               simcore::Diagnostics& diagnostics);

}  // namespace shardsim::quiz

// Answers questions from runs alone: each option's claim holds on what was measured, or does not.
// Which option is marked right plays no part.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <vector>

#include "quiz/bank/question_bank.hpp"
#include "quiz/evidence/quantity.hpp"

namespace shardsim::quiz {

enum class Verdict : std::uint8_t {
  supported,
  refuted,
  cited,  ///< no run can decide it; sources are named
};

struct NamedQuantity {
  std::string name;  ///< "run.fact"
  Quantity quantity;
};

struct OptionVerdict {
  std::string id;
  Verdict verdict = Verdict::cited;
  std::string claim;                   ///< empty if it has none
  std::vector<NamedQuantity> numbers;  ///< those that the claim compares
  std::vector<std::string> cites;      ///< keys of sources
};

struct QuestionVerdict {
  std::string id;
  std::string answer;  ///< the one supported option; empty if there is none or several
  std::vector<OptionVerdict> options;
};

/// The error says which claim cannot be evaluated.
std::expected<QuestionVerdict, std::string> judge(const Question& question, const RunFacts& facts);

/// The question's values, by the names that its texts use.
std::expected<std::map<std::string, Quantity>, std::string> values_of(const Question& question,
                                                                      const RunFacts& facts);

const char* verdict_name(Verdict verdict);
/// "bytes", "s" or "", for documents.
const char* unit_name(const Dimension& dimension);

/// {"questions": [{"id", "answer", "options": [{"id", "verdict", "claim", "numbers": [{"name",
/// "value", "unit"}], "cites"}]}]} with a newline at the end.
std::string to_json(const std::vector<QuestionVerdict>& verdicts);

}  // namespace shardsim::quiz

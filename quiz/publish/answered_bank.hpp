// The bank with everything that its texts need: runs carried out, claims judged, numbers filled in.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "quiz/bank/question_bank.hpp"
#include "quiz/evidence/evidence_run.hpp"
#include "quiz/evidence/verdict.hpp"

namespace shardsim::quiz {

struct AnsweredQuestion {
  const Question* question = nullptr;
  std::map<std::string, const EvidenceRun*> runs;
  QuestionVerdict verdict;
  std::map<std::string, Quantity> values;
};

/// All questions of `bank`, which must outlive the result, as must `runs`. The error says which run
/// or claim failed.
std::expected<std::vector<AnsweredQuestion>, std::string> answer_all(
    const QuestionBank& bank, EvidenceRuns& runs, const std::function<void(double)>& progress = {});

/// Values as a language writes them.
Fillings write_out(const std::map<std::string, Quantity>& values, const LanguageRules& rules);

}  // namespace shardsim::quiz

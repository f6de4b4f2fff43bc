// The shipped bank and data, and runs that are simulated once for all tests.
#pragma once

#include <string>

#include <doctest/doctest.h>

#include "quiz/bank/question_bank.hpp"
#include "quiz/evidence/evidence_run.hpp"
#include "quiz/evidence/verdict.hpp"

namespace shardsim::quiz {

inline std::string source_folder() { return SHARDSIM_SOURCE_DIR; }

inline const QuestionBank& shipped_bank() {
  static const QuestionBank bank = [] {
    simcore::Diagnostics diagnostics;
    auto loaded = load_question_bank(source_folder() + "/quiz/bank", diagnostics);
    REQUIRE_MESSAGE(loaded, simcore::to_text(diagnostics));
    return std::move(*loaded);
  }();
  return bank;
}

inline scenario::DataFolders shipped_data() {
  return {source_folder() + "/topologies", source_folder() + "/scenarios"};
}

inline EvidenceRuns& shared_runs() {
  static EvidenceRuns runs(shipped_data());
  return runs;
}

/// The verdict on a question with one of its runs replaced; `run` may be empty.
inline QuestionVerdict verdict_with(const Question& question, const std::string& run,
                                    const RunSpec& instead) {
  QuestionSpec spec = question.spec;
  if (!run.empty()) {
    REQUIRE(spec.runs.contains(run));
    spec.runs[run] = instead;
  }
  const auto runs = shared_runs().all(spec);
  REQUIRE_MESSAGE(runs, runs.error());
  auto verdict = judge(question, facts_of(*runs));
  REQUIRE_MESSAGE(verdict, verdict.error());
  return *verdict;
}

inline Verdict of_option(const QuestionVerdict& verdict, const std::string& option) {
  for (const OptionVerdict& one : verdict.options) {
    if (one.id == option) return one.verdict;
  }
  FAIL("there is no option " << option);
  return Verdict::cited;
}

}  // namespace shardsim::quiz

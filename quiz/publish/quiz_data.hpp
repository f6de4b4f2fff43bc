// Everything that a page needs to hold the quiz, as JSON: see docs/quiz.md.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "quiz/publish/answered_bank.hpp"

namespace shardsim::quiz {

/// What is wanted of a run beside its facts and result.
struct RunDetail {
  bool memory = false;   ///< memory over the step
  bool streams = false;  ///< every operation by stream
};

/// One run as `runs` of the document holds it. `scenarios` is where the reader sees the folder
/// scenarios/.
nlohmann::ordered_json run_data(const EvidenceRun& run, const std::string& scenarios,
                                const RunDetail& detail);

/// {id, solved, options, values}: what runs decide of a question.
nlohmann::ordered_json verdict_data(const QuestionBank& bank, const QuestionVerdict& verdict,
                                    const std::map<std::string, Quantity>& values);

enum class Recording {
  full,   ///< of each run all that its views show
  facts,  ///< without what is drawn over time: for a page that can run it itself
};

/// One document with a newline at the end, the same bytes every time. `questions` are all of the
/// bank's.
std::string to_quiz_data(const QuestionBank& bank, const std::vector<AnsweredQuestion>& questions,
                         const std::string& scenarios, const std::string& version,
                         Recording recording = Recording::full);

}  // namespace shardsim::quiz

// Everything that a page needs to hold the quiz without the simulator: the document
// "shardsim.quiz-data/1". docs/quiz.md describes its members.
#pragma once

#include <string>
#include <vector>

#include "quiz/publish/answered_bank.hpp"

namespace shardsim::quiz {

/// JSON with a newline at the end. Equal banks and runs give equal bytes: nothing in it depends on
/// the machine. `scenarios` is where commands show the folder scenarios/.
std::string to_quiz_data(const QuestionBank& bank, const std::vector<AnsweredQuestion>& questions,
                         const std::string& scenarios, const std::string& version);

}  // namespace shardsim::quiz

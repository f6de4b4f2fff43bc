// The bank in the formats of other programs, in one language, with the numbers of the runs in it.
//
// GIFT is what Moodle imports (https://docs.moodle.org/en/GIFT_format): a question a paragraph, the
// right option marked, a reason for each. CSV is what Anki imports (its manual, "Importing - Text
// files"): a card a line, the question with its options in front, the answer, the explanation and
// every reason behind.
#pragma once

#include <string>
#include <vector>

#include "quiz/publish/answered_bank.hpp"

namespace shardsim::quiz {

std::string to_gift(const std::vector<AnsweredQuestion>& questions, const Words& words);
std::string to_anki_csv(const std::vector<AnsweredQuestion>& questions, const Words& words);

}  // namespace shardsim::quiz

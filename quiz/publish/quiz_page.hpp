// The quiz as one HTML document that needs nothing else.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "quiz/publish/answered_bank.hpp"

namespace shardsim::quiz {

/// The page of `questions`, all of the bank's. `module` is the simulator as the build packed it
/// (web/pack_module.mjs); if it is empty the page shows what `questions` recorded, and says so. The
/// error says why this build has no pages.
std::expected<std::string, std::string> to_quiz_page(const QuestionBank& bank,
                                                     const std::vector<AnsweredQuestion>& questions,
                                                     const std::string& version,
                                                     std::string_view module);

}  // namespace shardsim::quiz

// The quiz as a conversation on a terminal: questions, answers, evidence, result.
//
// Everything goes through a Console, so that a test can hold the conversation. Each answer is saved
// before its evidence is run; whatever ends the program after that loses nothing. The text is lines
// from top to bottom; only the progress line is redrawn, and only on a terminal.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "quiz/bank/question_bank.hpp"
#include "quiz/evidence/evidence_run.hpp"
#include "quiz/session/progress.hpp"
#include "quiz/show/text_plots.hpp"

namespace shardsim::quiz {

struct Console {
  std::function<void(const std::string&)> write;
  /// A line without its end; nothing at the end of input or when the user interrupts.
  std::function<std::optional<std::string>()> read_line;
  std::function<double()> seconds;  ///< of a clock, for the time that runs take
  bool terminal = false;            ///< a line may be redrawn
  bool colour = false;
  PlotStyle plots;
  std::size_t width = 80;
};

struct ConversationSettings {
  std::string language;
};

enum class Ending : std::uint8_t { finished, stopped, failed };

/// `bank` and `runs` must outlive the call. Progress is read from and written to `file`.
Ending hold_conversation(const QuestionBank& bank, EvidenceRuns& runs, const ProgressFile& file,
                         const ConversationSettings& settings, const Console& console);

}  // namespace shardsim::quiz

// Evidence as plots in text: bars of memory, a timeline, a curve. Numbers stand left of what they
// are the numbers of, so that no column depends on how wide a translated text is shown.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "quiz/bank/question_spec.hpp"
#include "quiz/bank/words.hpp"
#include "quiz/evidence/evidence_run.hpp"

namespace shardsim::quiz {

struct PlotStyle {
  bool unicode = true;
  /// No bars and no rows of shades: sentences of words and numbers.
  bool plain = false;
};

using NamedRuns = std::map<std::string, const EvidenceRun*>;

/// The lines of a view.
std::vector<std::string> plot(const ViewSpec& view, const NamedRuns& runs, const Words& words,
                              const PlotStyle& style);

}  // namespace shardsim::quiz

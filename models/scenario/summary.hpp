// The result as text that a person reads: the forecast, a picture of the step, and its causes.
#pragma once

#include <string>

#include "models/scenario/result.hpp"

namespace shardsim::scenario {

struct SummaryStyle {
  bool colour = false;
  bool unicode = true;  ///< block characters in bars; otherwise plain ASCII
};

/// The scenario's name, and what `--set` and a sweep changed of it: a name that says "four nodes"
/// is not to be taken at its word then.
std::string title_of(const Result& result);

/// Lines of at most 100 columns, ending with a newline.
std::string summarise(const Result& result, const SummaryStyle& style);

/// Lines on what would make a run fit that ran out of memory; none if nothing was tried.
std::string summarise_advice(const Result& result);

}  // namespace shardsim::scenario

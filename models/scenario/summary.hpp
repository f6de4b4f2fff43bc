// The result as text that a person reads: the forecast, a picture of the step, and its causes.
#pragma once

#include <string>

#include "models/scenario/result.hpp"

namespace shardsim::scenario {

struct SummaryStyle {
  bool colour = false;
  bool unicode = true;  ///< block characters in bars; otherwise plain ASCII
};

/// Lines of at most 100 columns, ending with a newline.
std::string summarise(const Result& result, const SummaryStyle& style);

}  // namespace shardsim::scenario

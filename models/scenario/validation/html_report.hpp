// The report of a validation as one HTML page that needs nothing else: a plot of predicted against
// measured for each quantity (inline SVG, logarithmic axes), errors by group, every row, and the
// reasons why runs have no forecast. No scripts; all names are text.
#pragma once

#include <string>

#include "models/scenario/validation/validation_report.hpp"

namespace shardsim::scenario {

std::string to_html(const ValidationReport& report);

}  // namespace shardsim::scenario

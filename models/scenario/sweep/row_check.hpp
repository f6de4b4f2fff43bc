// Holds a line of a sweep to what the program writes: a file of points may have been edited, and
// its figures go into tables and answers.
#pragma once

#include <string>
#include <string_view>

namespace shardsim::scenario {

/// What is wrong with a line, without its newline or with it, that `read_row` takes for a point:
/// sections and figures that are missing or of another type, figures that are negative, a line that
/// is spelt otherwise than results are. Empty: nothing. That the figures are those of the point is
/// not asked: only running it again would tell.
std::string row_flaw(std::string_view line);

}  // namespace shardsim::scenario

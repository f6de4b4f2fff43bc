// A C++ source seen line by line, with what is no code blanked out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardsim::structure {

struct SourceLine {
  std::string without_comments;  ///< String literals kept: what an #include names.
  std::string code;              ///< String and character literals blanked too.
};

/// Lines of `text` in order; line n is element n - 1. Every blanked character becomes a space, so
/// columns stay. Knows line and block comments, string, character and raw string literals, and
/// digit separators.
std::vector<SourceLine> source_lines(std::string_view text);

}  // namespace shardsim::structure

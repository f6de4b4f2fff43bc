// UTF-8: one character at a time, and what may be shown on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace shardsim::simcore {

/// U+FFFD.
inline constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

struct Utf8Character {
  char32_t code_point = 0;
  std::size_t length = 1;  ///< bytes; 1 for a byte that begins no valid character
  bool valid = true;
  /// Neither a control character nor one that reorders text, so safe to show.
  bool printable() const;
};

/// The character at `at` < text.size(). Overlong forms, surrogates and what lies beyond U+10FFFF
/// are not valid.
Utf8Character next_utf8(std::string_view text, std::size_t at);

/// Number of characters; each invalid byte counts as one.
std::size_t count_characters(std::string_view text);

/// `text` with what is not printable replaced, line breaks included.
std::string printable(std::string_view text);

}  // namespace shardsim::simcore

// How many columns a text takes on a terminal, and lines of at most so many.
//
// Marks that combine with the letter before (the vowel signs above and below of Devanagari, the
// virama) take none, as in the C library and VTE; spacing vowel signs and letters take one, East
// Asian wide characters two. Terminals that join letters to conjuncts may take fewer; nothing here
// aligns what stands to the right of translated text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim::quiz {

int display_width(char32_t code_point);
std::size_t display_width(std::string_view text);

/// U+00A0, where a line is not broken.
inline constexpr std::string_view no_break_space = "\xC2\xA0";
/// `text` with every blank replaced by it: "416 MiB" stays on one line.
std::string without_blanks(std::string_view text);

/// `text` in lines broken at blanks, no-break spaces written as blanks; a word that is wider than
/// `width` has a line of its own.
std::vector<std::string> wrap(std::string_view text, std::size_t width);

}  // namespace shardsim::quiz

#include "simcore/config/text_checks.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "simcore/config/yaml_reader.hpp"
#include "simcore/utf8.hpp"

namespace shardsim::simcore {

namespace {

bool other_encoding(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF") ||
         text.starts_with(std::string_view("\0\0\xFE\xFF", 4));
}

/// Why the character may not stand there; empty if it may.
std::string objection(std::string_view text, std::size_t at, const Utf8Character& character) {
  if (!character.valid) {
    return fmt::format("byte 0x{:02X} is not UTF-8; save the file as UTF-8",
                       static_cast<unsigned char>(text[at]));
  }
  if (character.code_point == '\t' || character.code_point == '\n') return {};
  if (character.code_point == '\r') {
    const bool line_break = at + 1 < text.size() && text[at + 1] == '\n';
    return line_break ? "" : "carriage return without line feed; end lines with LF or CR LF";
  }
  if (character.code_point == 0) return "NUL byte; this looks like a binary file";
  if (character.code_point == 0xFEFF) return "byte order mark in the middle of the text; remove it";
  if (character.printable()) return {};
  return fmt::format("control character U+{:04X} is not allowed",
                     static_cast<std::uint32_t>(character.code_point));
}

/// Offset of a tab in the blanks that begin the line at `start`. Also refused where nothing
/// follows: the parser takes some such lines and not others.
std::size_t tab_in_indentation(std::string_view text, std::size_t start) {
  const std::size_t tab = text.find_first_not_of(' ', start);
  return tab != std::string_view::npos && text[tab] == '\t' ? tab : std::string_view::npos;
}

bool is_punctuation(char c) { return std::string_view("[]{},:\"'!&*?").contains(c); }

}  // namespace

bool check_text(const SourcePositions& positions, Diagnostics& diagnostics) {
  const std::string_view text = positions.source()->text;
  if (other_encoding(text)) {
    diagnostics.error(positions.whole(), "the file is UTF-16 or UTF-32; save it as UTF-8");
    return false;
  }
  if (std::ranges::count_if(text, is_punctuation) > std::ptrdiff_t{max_yaml_punctuation}) {
    diagnostics.error(positions.whole(),
                      fmt::format("more than {} brackets, quotes, commas and colons in one file",
                                  max_yaml_punctuation));
    return false;
  }
  bool line_start = true;
  for (std::size_t at = 0; at < text.size();) {
    if (line_start) {
      const std::size_t tab = tab_in_indentation(text, at);
      if (tab != std::string_view::npos) {
        diagnostics.error(positions.at(tab), "tab in indentation; indent with spaces");
        return false;
      }
    }
    const Utf8Character character = next_utf8(text, at);
    const std::string problem = objection(text, at, character);
    if (!problem.empty()) {
      diagnostics.error(positions.at(at), problem);
      return false;
    }
    line_start = text[at] == '\n';
    at += character.length;
  }
  return true;
}

}  // namespace shardsim::simcore

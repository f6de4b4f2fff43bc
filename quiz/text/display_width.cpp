#include "quiz/text/display_width.hpp"

#include <algorithm>
#include <array>

#include "simcore/utf8.hpp"

namespace shardsim::quiz {

namespace {

struct Range {
  char32_t first;
  char32_t last;
};

/// Unicode categories Mn, Me and Cf of Latin, Devanagari and punctuation.
constexpr std::array no_width{
    Range{0x0300, 0x036F}, Range{0x0900, 0x0902}, Range{0x093A, 0x093A}, Range{0x093C, 0x093C},
    Range{0x0941, 0x0948}, Range{0x094D, 0x094D}, Range{0x0951, 0x0957}, Range{0x0962, 0x0963},
    Range{0x1AB0, 0x1AFF}, Range{0x1DC0, 0x1DFF}, Range{0x200B, 0x200F}, Range{0x2060, 0x2064},
    Range{0x20D0, 0x20F0}, Range{0xFE00, 0xFE0F}, Range{0xFE20, 0xFE2F}, Range{0xFEFF, 0xFEFF}};

/// East Asian Width W and F.
constexpr std::array double_width{
    Range{0x1100, 0x115F},   Range{0x2E80, 0x303E},   Range{0x3041, 0xA4CF},  Range{0xAC00, 0xD7A3},
    Range{0xF900, 0xFAFF},   Range{0xFE30, 0xFE6F},   Range{0xFF00, 0xFF60},  Range{0xFFE0, 0xFFE6},
    Range{0x1F300, 0x1F64F}, Range{0x1F900, 0x1F9FF}, Range{0x20000, 0x3FFFD}};

template <class Ranges>
bool within(const Ranges& ranges, char32_t code_point) {
  return std::any_of(ranges.begin(), ranges.end(), [code_point](const Range& range) {
    return code_point >= range.first && code_point <= range.last;
  });
}

}  // namespace

int display_width(char32_t code_point) {
  if (code_point < 0x300) return 1;
  if (within(no_width, code_point)) return 0;
  return within(double_width, code_point) ? 2 : 1;
}

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const simcore::Utf8Character next = simcore::next_utf8(text, at);
    columns += static_cast<std::size_t>(display_width(next.code_point));
    at += next.length;
  }
  return columns;
}

std::string without_blanks(std::string_view text) {
  std::string made;
  for (const char c : text) c == ' ' ? made += no_break_space : made += c;
  return made;
}

std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  std::size_t columns = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t blank = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, blank - at);
    at = blank + 1;
    if (word.empty()) continue;
    const std::size_t wide = display_width(word);
    if (columns > 0 && columns + 1 + wide > width) {
      lines.push_back(std::move(line));
      line.clear();
      columns = 0;
    }
    if (columns > 0) line += ' ';
    columns += wide + (columns > 0 ? 1 : 0);
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  for (std::string& one : lines) {
    for (std::size_t at = one.find(no_break_space); at != std::string::npos;
         at = one.find(no_break_space, at)) {
      one.replace(at, no_break_space.size(), " ");
    }
  }
  return lines;
}

}  // namespace shardsim::quiz

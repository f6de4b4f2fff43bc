#include "simcore/utf8.hpp"

namespace shardsim::simcore {

namespace {

struct Lead {
  std::size_t length;
  char32_t bits;
  char32_t smallest;  ///< code point that needs this length
};

Lead lead_of(unsigned char byte) {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xC2 && byte < 0xE0) return {2, byte & 0x1FU, 0x80};
  if (byte >= 0xE0 && byte < 0xF0) return {3, byte & 0x0FU, 0x800};
  if (byte >= 0xF0 && byte < 0xF5) return {4, byte & 0x07U, 0x10000};
  return {0, 0, 0};
}

}  // namespace

bool Utf8Character::printable() const {
  if (!valid || code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0)) return false;
  const bool line_break = code_point == 0x2028 || code_point == 0x2029;
  const bool reorders = (code_point >= 0x202A && code_point <= 0x202E) ||
                        (code_point >= 0x2066 && code_point <= 0x2069);
  return !line_break && !reorders;
}

Utf8Character next_utf8(std::string_view text, std::size_t at) {
  constexpr Utf8Character broken{0xFFFD, 1, false};
  const Lead lead = lead_of(static_cast<unsigned char>(text[at]));
  if (lead.length == 0 || at + lead.length > text.size()) return broken;
  char32_t code_point = lead.bits;
  for (std::size_t i = 1; i < lead.length; ++i) {
    const auto byte = static_cast<unsigned char>(text[at + i]);
    if ((byte & 0xC0U) != 0x80U) return broken;
    code_point = (code_point << 6U) | (byte & 0x3FU);
  }
  const bool surrogate = code_point >= 0xD800 && code_point < 0xE000;
  if (code_point < lead.smallest || surrogate || code_point > 0x10FFFF) return broken;
  return {code_point, lead.length, true};
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = 0; at < text.size(); ++count) at += next_utf8(text, at).length;
  return count;
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character next = next_utf8(text, at);
    shown += next.printable() ? text.substr(at, next.length) : replacement_character;
    at += next.length;
  }
  return shown;
}

}  // namespace shardsim::simcore

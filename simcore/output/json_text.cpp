#include "simcore/output/json_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

#include "simcore/utf8.hpp"

namespace shardsim::simcore {

namespace {

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

/// An ASCII character that may not stand for itself.
void append_escaped(std::string& out, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out += hex[static_cast<unsigned char>(c) >> 4U];
      out += hex[static_cast<unsigned char>(c) & 0xFU];
  }
}

template <class Number>
std::string_view append_digits(std::string& out, Number value) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  const auto length = static_cast<std::size_t>(end - buffer.data());
  out.append(buffer.data(), length);
  return std::string_view(out).substr(out.size() - length);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    std::size_t plain = at;
    while (plain < text.size() && is_plain(text[plain])) ++plain;
    out.append(text, at, plain - at);
    at = plain;
    if (at == text.size()) break;
    const Utf8Character next = next_utf8(text, at);
    if (!next.valid) {
      out += replacement_character;
    } else if (next.length > 1) {
      out.append(text, at, next.length);
    } else {
      append_escaped(out, text[at]);
    }
    at += next.length;
  }
  out += '"';
}

void append_json_number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  // A point keeps readers from taking a measured value for a count.
  if (append_digits(out, value).find_first_of(".e") == std::string_view::npos) out += ".0";
}

void append_json_number(std::string& out, std::int64_t value) { append_digits(out, value); }

void append_json_number(std::string& out, std::uint64_t value) { append_digits(out, value); }

void append_microseconds(std::string& out, SimTime time) {
  constexpr std::uint64_t per_microsecond = 1'000'000;
  const std::int64_t signed_count = time.picoseconds();
  auto count = static_cast<std::uint64_t>(signed_count);
  if (signed_count < 0) {
    out += '-';
    count = -count;
  }
  append_digits(out, count / per_microsecond);
  std::array<char, 7> decimals{'.', '0', '0', '0', '0', '0', '0'};
  std::uint64_t fraction = count % per_microsecond;
  for (std::size_t i = 6; i > 0; --i, fraction /= 10) {
    decimals[i] = static_cast<char>('0' + fraction % 10);
  }
  std::size_t length = 7;
  while (length > 4 && decimals[length - 1] == '0') --length;
  out.append(decimals.data(), length);
}

}  // namespace shardsim::simcore

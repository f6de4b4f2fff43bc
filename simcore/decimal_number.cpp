#include "simcore/decimal_number.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

namespace shardsim::simcore {

namespace {

// Beyond any double or 64-bit integer, and far from overflow when exponents are added.
constexpr std::int64_t exponent_limit = 1'000'000;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Drops zeros at both ends.
void normalise(DecimalNumber& number) {
  std::string& digits = number.digits;
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  const std::size_t kept = digits.find_last_not_of('0') + 1;  // npos + 1 == 0
  number.exponent += static_cast<std::int64_t>(digits.size() - kept);
  digits.resize(kept);
  if (digits.empty()) number.exponent = 0;
}

/// Reads "e+12" at `at`; leaves `at` alone if no digit follows.
std::int64_t parse_exponent(std::string_view text, std::size_t& at) {
  std::size_t next = at + 1;
  const bool negative = next < text.size() && text[next] == '-';
  if (next < text.size() && (text[next] == '-' || text[next] == '+')) ++next;
  if (next >= text.size() || !is_digit(text[next])) return 0;
  std::int64_t value = 0;
  for (; next < text.size() && is_digit(text[next]); ++next) {
    value = std::min(value * 10 + (text[next] - '0'), exponent_limit);
  }
  at = next;
  return negative ? -value : value;
}

}  // namespace

std::optional<DecimalNumber> parse_decimal_prefix(std::string_view text) {
  DecimalNumber number;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) number.negative = text[at++] == '-';
  const std::size_t first = at;
  while (at < text.size() && is_digit(text[at])) number.digits += text[at++];
  number.leading_zero = at - first > 1 && text[first] == '0';
  number.integer_form = true;
  if (at < text.size() && text[at] == '.') {
    const std::size_t point = at++;
    while (at < text.size() && is_digit(text[at])) {
      number.digits += text[at++];
      --number.exponent;
    }
    number.integer_form = false;
    if (at == point + 1 && point == first) return std::nullopt;  // a point alone
  }
  if (number.digits.empty()) return std::nullopt;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    const std::size_t before = at;
    number.exponent += parse_exponent(text, at);
    if (at != before) number.integer_form = false;
  }
  number.length = at;
  normalise(number);
  return number;
}

double DecimalNumber::to_double() const {
  if (digits.empty()) return negative ? -0.0 : 0.0;
  const std::string text = digits + 'e' + std::to_string(exponent);
  double value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    const bool large = exponent + static_cast<std::int64_t>(digits.size()) > 0;
    value = large ? std::numeric_limits<double>::infinity() : 0.0;
  }
  return negative ? -value : value;
}

std::optional<std::int64_t> DecimalNumber::to_whole() const {
  if (digits.empty()) return 0;
  if (exponent < 0 || exponent + static_cast<std::int64_t>(digits.size()) > 19) {
    return std::nullopt;
  }
  const std::string text =
      (negative ? "-" : "") + digits + std::string(static_cast<std::size_t>(exponent), '0');
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{}) return std::nullopt;
  return value;
}

std::string DecimalNumber::to_text() const {
  const std::string sign = negative ? "-" : "";
  if (digits.empty()) return sign + "0";
  const auto size = static_cast<std::int64_t>(digits.size());
  const std::int64_t point = size + exponent;  // digits before the point
  if (point > 21 || point < -9) {
    const std::string tail = size > 1 ? "." + digits.substr(1) : "";
    return sign + digits.substr(0, 1) + tail + "e" + std::to_string(point - 1);
  }
  if (exponent >= 0) return sign + digits + std::string(static_cast<std::size_t>(exponent), '0');
  if (point <= 0) return sign + "0." + std::string(static_cast<std::size_t>(-point), '0') + digits;
  const auto whole = static_cast<std::size_t>(point);
  return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

DecimalNumber shortest_decimal(double value) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::scientific);
  return parse_decimal_prefix({buffer.data(), result.ptr}).value_or(DecimalNumber{});
}

DecimalNumber rounded_decimal(double value, int significant) {
  std::array<char, 64> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                    std::chars_format::scientific, significant - 1);
  return parse_decimal_prefix({buffer.data(), result.ptr}).value_or(DecimalNumber{});
}

DecimalNumber exact_decimal(std::int64_t value) {
  return parse_decimal_prefix(std::to_string(value)).value_or(DecimalNumber{});
}

}  // namespace shardsim::simcore

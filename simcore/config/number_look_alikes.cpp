#include "simcore/config/number_look_alikes.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "simcore/decimal_number.hpp"

namespace shardsim::simcore {

namespace {

std::string lower(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

std::string_view without_sign(std::string_view text) {
  return text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
}

/// Digits of `base` and nothing else, as text in decimal; empty if they are none.
std::string in_decimal(std::string_view digits, int base) {
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto result = std::from_chars(digits.data(), end, value, base);
  if (digits.starts_with('-') || result.ec != std::errc{} || result.ptr != end) return {};
  return std::to_string(value);
}

}  // namespace

std::string integer_meant(std::string_view text) {
  if (const auto number = parse_decimal_prefix(text); number && number->length == text.size()) {
    const auto whole = number->to_whole();
    return whole ? std::to_string(*whole) : std::string();
  }
  std::string digits = lower(without_sign(text));
  const bool grouped = std::erase_if(digits, [](char c) { return c == '_' || c == ','; }) > 0;
  const std::string_view prefix = std::string_view(digits).substr(0, 2);
  const int base = prefix == "0x" ? 16 : prefix == "0o" ? 8 : prefix == "0b" ? 2 : 10;
  if (base == 10 && !grouped) return {};
  const std::string value = in_decimal(std::string_view(digits).substr(base == 10 ? 0 : 2), base);
  return value.empty() || !text.starts_with('-') ? value : "-" + value;
}

std::string leading_zero_advice(std::string_view text) {
  const std::string_view sign = text.starts_with('-') ? "-" : "";
  const std::string decimal = in_decimal(without_sign(text), 10);
  const std::string octal = in_decimal(without_sign(text), 8);
  std::string advice = "some readers take a leading zero for octal";
  if (!decimal.empty()) advice += fmt::format("; write {}{}", sign, decimal);
  if (!octal.empty() && octal != decimal) advice += fmt::format(" or {}{}", sign, octal);
  return advice;
}

bool is_special_number(std::string_view text) {
  constexpr std::array<std::string_view, 5> names{".inf", ".nan", "inf", "nan", "infinity"};
  return std::ranges::find(names, lower(without_sign(text))) != names.end();
}

}  // namespace shardsim::simcore

// Decimal numbers as text: split into digits and a power of ten, so that units can shift the point
// without rounding.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardsim::simcore {

/// (-1)^negative * digits * 10^exponent; `digits` has neither leading nor trailing zeros and is
/// empty for zero.
struct DecimalNumber {
  bool negative = false;
  std::string digits;
  std::int64_t exponent = 0;
  std::size_t length = 0;     ///< characters of the text that the number takes
  bool leading_zero = false;  ///< written with a zero before another digit, as octal is
  bool integer_form = false;  ///< neither point nor exponent

  /// Nearest double; infinite if beyond its range.
  double to_double() const;
  /// The exact value, or nothing if it is not whole or not within 64 bits.
  std::optional<std::int64_t> to_whole() const;
  /// Plain notation without exponent if that takes at most 21 digits before and 9 zeros after the
  /// point, else scientific.
  std::string to_text() const;
};

/// The number that `text` begins with: [+-] digits [. digits] [e [+-] digits]. An 'e' that no
/// exponent follows belongs to what comes after.
std::optional<DecimalNumber> parse_decimal_prefix(std::string_view text);

/// Shortest decimal that reads back as `value` (finite).
DecimalNumber shortest_decimal(double value);
/// `value` (finite) rounded to `significant` digits.
DecimalNumber rounded_decimal(double value, int significant);
DecimalNumber exact_decimal(std::int64_t value);

}  // namespace shardsim::simcore

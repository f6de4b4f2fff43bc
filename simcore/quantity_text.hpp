// The written form of quantities: a decimal number and a unit.
//
// A kind of quantity is data: its units, and an example for messages. Other rooms describe kinds of
// their own (power, frequency) in the same way and so get the same strictness. Conversion is
// exact where the kind counts in integers and correctly rounded where it is real.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

namespace shardsim::simcore {

/// One unit is worth factor * 10^decimal * 2^binary of the kind's base.
struct QuantityUnit {
  std::string_view symbol;
  int decimal = 0;
  int binary = 0;
  std::int64_t factor = 1;
  bool printed = true;  ///< may be chosen when printing; spellings read only have false
};

/// Units stand in ascending order of worth among those that are printed.
struct QuantityKind {
  std::string_view name;     ///< "time", "bytes"
  std::string_view example;  ///< "2.5 us"
  std::span<const QuantityUnit> units;
  bool bare_number = false;  ///< a number without unit is taken in the base
};

/// Not negative. The error says what was expected, found, and the nearest unit.
std::expected<double, std::string> parse_real(std::string_view text, const QuantityKind& kind);

enum class Inexact : std::uint8_t { refuse, round_to_nearest };
/// A whole count of the base, exact. With round_to_nearest only a value that would vanish (above
/// zero but below one half) is refused.
std::expected<std::int64_t, std::string> parse_whole(std::string_view text,
                                                     const QuantityKind& kind, Inexact inexact);

/// Four significant digits at most, in the largest printed unit that is not larger than the value;
/// "inf B/s" for what is not finite.
std::string format_rounded(double value, const QuantityKind& kind);
/// As many digits as it takes for the parser to give the same (finite) value back.
std::string format_exact(double value, const QuantityKind& kind);
std::string format_exact(std::int64_t value, const QuantityKind& kind);

/// ECMA regular expression of the written form, for JSON schemas.
std::string quantity_pattern(const QuantityKind& kind);

const QuantityKind& time_kind();       // base: picosecond
const QuantityKind& bytes_kind();      // base: byte
const QuantityKind& bit_rate_kind();   // base: byte per second
const QuantityKind& flop_rate_kind();  // base: operation per second
const QuantityKind& fraction_kind();   // base: 1

}  // namespace shardsim::simcore

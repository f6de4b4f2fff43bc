#include "simcore/quantity_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "simcore/decimal_number.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::simcore {

namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::array<QuantityUnit, 9> time_units{{{.symbol = "ps"},
                                                  {.symbol = "ns", .decimal = 3},
                                                  {.symbol = "us", .decimal = 6},
                                                  {.symbol = "µs", .decimal = 6, .printed = false},
                                                  {.symbol = "μs", .decimal = 6, .printed = false},
                                                  {.symbol = "ms", .decimal = 9},
                                                  {.symbol = "s", .decimal = 12},
                                                  {.symbol = "min", .decimal = 12, .factor = 60},
                                                  {.symbol = "h", .decimal = 12, .factor = 3600}}};

constexpr std::array<QuantityUnit, 13> byte_units{{
    {.symbol = "B"},
    {.symbol = "kB", .decimal = 3, .printed = false},
    {.symbol = "MB", .decimal = 6, .printed = false},
    {.symbol = "GB", .decimal = 9, .printed = false},
    {.symbol = "TB", .decimal = 12, .printed = false},
    {.symbol = "PB", .decimal = 15, .printed = false},
    {.symbol = "EB", .decimal = 18, .printed = false},
    {.symbol = "KiB", .binary = 10},
    {.symbol = "MiB", .binary = 20},
    {.symbol = "GiB", .binary = 30},
    {.symbol = "TiB", .binary = 40},
    {.symbol = "PiB", .binary = 50},
    {.symbol = "EiB", .binary = 60},
}};

// The base is a byte per second; a bit is 2^-3 bytes.
constexpr std::array<QuantityUnit, 16> rate_units{{
    {.symbol = "bit/s", .binary = -3, .printed = false},
    {.symbol = "kbit/s", .decimal = 3, .binary = -3, .printed = false},
    {.symbol = "Mbit/s", .decimal = 6, .binary = -3, .printed = false},
    {.symbol = "Gbit/s", .decimal = 9, .binary = -3, .printed = false},
    {.symbol = "Tbit/s", .decimal = 12, .binary = -3, .printed = false},
    {.symbol = "B/s"},
    {.symbol = "kB/s", .decimal = 3},
    {.symbol = "MB/s", .decimal = 6},
    {.symbol = "GB/s", .decimal = 9},
    {.symbol = "TB/s", .decimal = 12},
    {.symbol = "PB/s", .decimal = 15},
    {.symbol = "KiB/s", .binary = 10, .printed = false},
    {.symbol = "MiB/s", .binary = 20, .printed = false},
    {.symbol = "GiB/s", .binary = 30, .printed = false},
    {.symbol = "TiB/s", .binary = 40, .printed = false},
    {.symbol = "PiB/s", .binary = 50, .printed = false},
}};

constexpr std::array<QuantityUnit, 7> flop_units{{{.symbol = "FLOP/s"},
                                                  {.symbol = "kFLOP/s", .decimal = 3},
                                                  {.symbol = "MFLOP/s", .decimal = 6},
                                                  {.symbol = "GFLOP/s", .decimal = 9},
                                                  {.symbol = "TFLOP/s", .decimal = 12},
                                                  {.symbol = "PFLOP/s", .decimal = 15},
                                                  {.symbol = "EFLOP/s", .decimal = 18}}};

constexpr std::array<QuantityUnit, 1> fraction_units{{{.symbol = "%", .decimal = -2}}};

constexpr QuantityKind times{"time", "2.5 us", time_units};
constexpr QuantityKind bytes{"bytes", "80 GiB", byte_units};
constexpr QuantityKind bit_rates{"data rate", "400 Gbit/s", rate_units};
constexpr QuantityKind flop_rates{"arithmetic rate", "989 TFLOP/s", flop_units};
constexpr QuantityKind fractions{"fraction", "50 %", fraction_units, true};

struct Parsed {
  DecimalNumber number;
  const QuantityUnit* unit = nullptr;  ///< null: a bare number
};

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string expectation(std::string_view text, const QuantityKind& kind) {
  const std::string_view what =
      kind.bare_number ? "a number or a percentage" : "a number with a unit";
  return fmt::format("expected {}, e.g. '{}', found {}", what, kind.example, quote(text));
}

/// What people write for "Gbit/s" and "GB/s": Gbps, Gb/s, Gbits/s; GBps, GBytes/s.
std::string rate_spelling(std::string_view symbol) {
  const std::size_t unit = symbol.find_first_of("bB");
  if (unit == std::string_view::npos || unit > 2) return {};
  const std::string prefix(symbol.substr(0, unit));
  const std::string_view rest = symbol.substr(unit);
  if (rest == "bps" || rest == "b/s" || rest == "bits/s") return prefix + "bit/s";
  if (rest == "Bps" || rest == "Bytes/s" || rest == "bytes/s") return prefix + "B/s";
  return {};
}

std::string unknown_unit(std::string_view symbol, std::string_view text, const QuantityKind& kind) {
  std::vector<std::string> symbols;
  for (const QuantityUnit& unit : kind.units) symbols.emplace_back(unit.symbol);
  std::string near = rate_spelling(symbol);
  if (std::ranges::find(symbols, near) == symbols.end()) near = nearest_spelling(symbol, symbols);
  return fmt::format("unknown unit {} in {}{} (units: {})", quote(symbol), quote(text),
                     did_you_mean(near), fmt::join(symbols, ", "));
}

std::expected<Parsed, std::string> split(std::string_view whole, const QuantityKind& kind) {
  const std::string_view text = trim(whole);
  auto number = parse_decimal_prefix(text);
  if (!number) return std::unexpected(expectation(whole, kind));
  const std::string_view symbol = trim(text.substr(number->length));
  if (!symbol.empty() && (symbol[0] == ',' || symbol[0] == '_' || symbol[0] == '\'')) {
    return std::unexpected(
        fmt::format("{}: write digits without separators, and a point for decimals", quote(text)));
  }
  if (number->leading_zero) {
    return std::unexpected(fmt::format("{}: write the number without leading zeros", quote(text)));
  }
  Parsed parsed{.number = std::move(*number)};
  if (symbol.empty()) {
    if (!kind.bare_number) return std::unexpected(expectation(whole, kind));
  } else {
    const auto found = std::ranges::find(kind.units, symbol, &QuantityUnit::symbol);
    if (found == kind.units.end()) return std::unexpected(unknown_unit(symbol, text, kind));
    parsed.unit = &*found;
  }
  if (parsed.number.negative && !parsed.number.digits.empty()) {
    return std::unexpected(fmt::format("{}: must not be negative", quote(text)));
  }
  parsed.number.negative = false;
  return parsed;
}

std::string too_large(std::string_view text) {
  return fmt::format("{} is too large", quote(trim(text)));
}

/// value * 10^exponent, or nothing on overflow.
std::optional<Wide> times_power_of_ten(Wide value, std::int64_t exponent) {
  for (std::int64_t i = 0; i < exponent; ++i) {
    if (i > 40 || __builtin_mul_overflow(value, Wide{10}, &value)) return std::nullopt;
  }
  return value;
}

/// digits * factor * 2^binary; nothing on overflow.
std::optional<Wide> significand(const DecimalNumber& number, const QuantityUnit& unit) {
  if (number.digits.size() > 38) return std::nullopt;
  Wide value = 0;
  for (const char digit : number.digits) value = value * 10 + static_cast<unsigned>(digit - '0');
  const Wide worth = static_cast<Wide>(unit.factor) << unit.binary;
  if (__builtin_mul_overflow(value, worth, &value)) return std::nullopt;
  return value;
}

double worth_of(const QuantityUnit& unit) {
  double power = 1;
  for (int i = 0; i < std::abs(unit.decimal); ++i) power *= 10;
  const double worth = std::ldexp(static_cast<double>(unit.factor), unit.binary);
  return unit.decimal < 0 ? worth / power : worth * power;
}

/// The value as a number of units: the decimal point moves, and binary factors divide exactly.
DecimalNumber in_unit(double value, const QuantityUnit& unit, int significant) {
  const double scaled = std::ldexp(value / static_cast<double>(unit.factor), -unit.binary);
  DecimalNumber number =
      significant > 0 ? rounded_decimal(scaled, significant) : shortest_decimal(scaled);
  if (!number.digits.empty()) number.exponent -= unit.decimal;
  return number;
}

/// Largest printed unit that is not larger than the value; the smallest for zero. Each kind has
/// such units, in rising order.
const QuantityUnit& suitable_unit(double value, const QuantityKind& kind) {
  const auto printed = [](const QuantityUnit& unit) { return unit.printed; };
  auto best = std::ranges::find_if(kind.units, printed);
  for (auto unit = best; unit != kind.units.end(); ++unit) {
    if (unit->printed && worth_of(*unit) <= std::abs(value)) best = unit;
  }
  return *best;
}

}  // namespace

std::expected<double, std::string> parse_real(std::string_view text, const QuantityKind& kind) {
  auto parsed = split(text, kind);
  if (!parsed) return std::unexpected(parsed.error());
  DecimalNumber& number = parsed->number;
  double value = number.to_double();
  if (parsed->unit != nullptr) {
    if (!number.digits.empty()) number.exponent += parsed->unit->decimal;
    value = std::ldexp(number.to_double() * static_cast<double>(parsed->unit->factor),
                       parsed->unit->binary);
  }
  if (!std::isfinite(value)) return std::unexpected(too_large(text));
  if (value == 0 && !number.digits.empty()) {
    return std::unexpected(fmt::format("{} is too small", quote(trim(text))));
  }
  return value;
}

std::expected<std::int64_t, std::string> parse_whole(std::string_view text,
                                                     const QuantityKind& kind, Inexact inexact) {
  const auto parsed = split(text, kind);
  if (!parsed) return std::unexpected(parsed.error());
  constexpr QuantityUnit base{.symbol = ""};
  const QuantityUnit& unit = parsed->unit != nullptr ? *parsed->unit : base;
  const DecimalNumber& number = parsed->number;
  if (number.digits.empty()) return 0;
  const std::int64_t shift = number.exponent + unit.decimal;
  auto value = significand(number, unit);
  if (value && shift > 0) value = times_power_of_ten(*value, shift);
  if (!value) return std::unexpected(too_large(text));
  if (shift < 0) {
    const Wide divisor = times_power_of_ten(1, -shift).value_or(0);  // 0: beyond 10^38
    const Wide whole = divisor == 0 ? 0 : *value / divisor;
    const Wide rest = divisor == 0 ? *value : *value % divisor;
    const bool up = divisor != 0 && rest >= divisor - rest;
    if (rest != 0 && inexact == Inexact::refuse) {
      return std::unexpected(
          fmt::format("{} is not a whole number of {}", quote(trim(text)), kind.name));
    }
    value = whole + (up ? 1 : 0);
    if (*value == 0) {
      return std::unexpected(fmt::format("{} is too small: less than half a {}", quote(trim(text)),
                                         kind.units.front().symbol));
    }
  }
  if (*value > static_cast<Wide>(INT64_MAX)) return std::unexpected(too_large(text));
  return static_cast<std::int64_t>(*value);
}

std::string format_rounded(double value, const QuantityKind& kind) {
  if (!std::isfinite(value)) return fmt::format("{} {}", value, suitable_unit(0, kind).symbol);
  constexpr int significant = 4;
  const QuantityUnit* unit = &suitable_unit(value, kind);
  DecimalNumber number = in_unit(value, *unit, significant);
  // Rounding may have reached the next unit: 999.96 GB/s is 1 TB/s.
  const double rounded = number.to_double() * worth_of(*unit);
  const QuantityUnit* larger = &suitable_unit(rounded, kind);
  if (larger != unit) {
    unit = larger;
    number = in_unit(value, *unit, significant);
  }
  return fmt::format("{} {}", number.to_text(), unit->symbol);
}

std::string format_exact(double value, const QuantityKind& kind) {
  const QuantityUnit& unit = suitable_unit(value, kind);
  return fmt::format("{} {}", in_unit(value, unit, 0).to_text(), unit.symbol);
}

std::string format_exact(std::int64_t value, const QuantityKind& kind) {
  // The unit that needs the fewest characters, the smaller of two alike.
  std::string best;
  std::size_t best_length = 0;
  for (const QuantityUnit& unit : kind.units) {
    DecimalNumber number = exact_decimal(value);
    const std::int64_t divisor = unit.factor << unit.binary;
    if (divisor != 1) {
      if (value % divisor != 0) continue;
      number = exact_decimal(value / divisor);
    }
    if (!number.digits.empty()) number.exponent -= unit.decimal;
    const std::string text = number.to_text();
    if (best.empty() || text.size() < best_length) {
      best = fmt::format("{} {}", text, unit.symbol);
      best_length = text.size();
    }
  }
  return best;
}

std::string quantity_pattern(const QuantityKind& kind) {
  std::vector<std::string_view> symbols;
  for (const QuantityUnit& unit : kind.units) symbols.push_back(unit.symbol);
  return fmt::format(R"(^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)? *({}){}$)",
                     fmt::join(symbols, "|"), kind.bare_number ? "?" : "");
}

const QuantityKind& time_kind() { return times; }
const QuantityKind& bytes_kind() { return bytes; }
const QuantityKind& bit_rate_kind() { return bit_rates; }
const QuantityKind& flop_rate_kind() { return flop_rates; }
const QuantityKind& fraction_kind() { return fractions; }

}  // namespace shardsim::simcore

// Quantities as types, with the text form used in YAML and on the command line.
//
// GB is 10^9 bytes, GiB 2^30; GB/s counts bytes, Gbit/s bits. A bare number where a unit belongs is
// an error: the parsers demand the unit.
#pragma once

#include <compare>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "simcore/time.hpp"

namespace shardsim::simcore {

/// A whole number of bytes.
struct Bytes {
  std::int64_t count = 0;
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count += other.count;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count -= other.count;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return a += b; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return a -= b; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes{a.count * n}; }
};

/// Data rate; held in bytes per second.
struct BitRate {
  double bytes_per_second = 0;
  static constexpr BitRate from_bits_per_second(double bits) { return BitRate{bits / 8}; }
  constexpr double bits_per_second() const { return bytes_per_second * 8; }
  constexpr auto operator<=>(const BitRate&) const = default;
};

/// Arithmetic rate in floating-point operations per second.
struct FlopRate {
  double flops_per_second = 0;
  constexpr auto operator<=>(const FlopRate&) const = default;
};

/// A share; 0.5 and "50 %" are the same.
struct Fraction {
  double value = 0;
  constexpr auto operator<=>(const Fraction&) const = default;
};

/// Parsers of the written form, e.g. "80 GiB", "400 Gbit/s", "2.5 us", "989 TFLOP/s", "50 %".
/// The error is a message that says what was expected; callers add the location. None is negative.
/// Bytes must be whole; a time is rounded to the nearest picosecond.
std::expected<SimTime, std::string> parse_time(std::string_view text);
std::expected<Bytes, std::string> parse_bytes(std::string_view text);
std::expected<BitRate, std::string> parse_bit_rate(std::string_view text);
std::expected<FlopRate, std::string> parse_flop_rate(std::string_view text);
std::expected<Fraction, std::string> parse_fraction(std::string_view text);

/// Printers for people: at most four significant digits in the unit that suits the size.
std::string to_text(SimTime value);
std::string to_text(Bytes value);
std::string to_text(BitRate value);  // as bytes per second, e.g. "50 GB/s"
std::string to_text(FlopRate value);
std::string to_text(Fraction value);

/// Printers for files: the parser gives exactly the same value back (of values not negative).
std::string to_exact_text(SimTime value);
std::string to_exact_text(Bytes value);
std::string to_exact_text(BitRate value);
std::string to_exact_text(FlopRate value);
std::string to_exact_text(Fraction value);

}  // namespace shardsim::simcore

#include "simcore/quantity.hpp"

#include <utility>

#include "simcore/quantity_text.hpp"

namespace shardsim::simcore {

namespace {

/// The parsed number as the quantity that `make` turns it into.
template <class Number, class Make>
auto convert(std::expected<Number, std::string> parsed, Make make)
    -> std::expected<decltype(make(Number{})), std::string> {
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return make(*parsed);
}

}  // namespace

std::expected<SimTime, std::string> parse_time(std::string_view text) {
  return convert(parse_whole(text, time_kind(), Inexact::round_to_nearest),
                 [](std::int64_t count) { return SimTime::picoseconds(count); });
}

std::expected<Bytes, std::string> parse_bytes(std::string_view text) {
  return convert(parse_whole(text, bytes_kind(), Inexact::refuse),
                 [](std::int64_t count) { return Bytes{count}; });
}

std::expected<BitRate, std::string> parse_bit_rate(std::string_view text) {
  return convert(parse_real(text, bit_rate_kind()), [](double rate) { return BitRate{rate}; });
}

std::expected<FlopRate, std::string> parse_flop_rate(std::string_view text) {
  return convert(parse_real(text, flop_rate_kind()), [](double rate) { return FlopRate{rate}; });
}

std::expected<Fraction, std::string> parse_fraction(std::string_view text) {
  return convert(parse_real(text, fraction_kind()), [](double share) { return Fraction{share}; });
}

std::string to_text(SimTime value) {
  if (value == SimTime::never()) return "never";
  if (value == SimTime{}) return "0 s";
  return format_rounded(static_cast<double>(value.picoseconds()), time_kind());
}

std::string to_text(Bytes value) {
  return format_rounded(static_cast<double>(value.count), bytes_kind());
}

std::string to_text(BitRate value) {
  return format_rounded(value.bytes_per_second, bit_rate_kind());
}

std::string to_text(FlopRate value) {
  return format_rounded(value.flops_per_second, flop_rate_kind());
}

std::string to_text(Fraction value) { return format_rounded(value.value, fraction_kind()); }

std::string to_exact_text(SimTime value) {
  if (value == SimTime{}) return "0 s";
  return format_exact(value.picoseconds(), time_kind());
}

std::string to_exact_text(Bytes value) { return format_exact(value.count, bytes_kind()); }

std::string to_exact_text(BitRate value) {
  return format_exact(value.bytes_per_second, bit_rate_kind());
}

std::string to_exact_text(FlopRate value) {
  return format_exact(value.flops_per_second, flop_rate_kind());
}

std::string to_exact_text(Fraction value) { return format_exact(value.value, fraction_kind()); }

}  // namespace shardsim::simcore

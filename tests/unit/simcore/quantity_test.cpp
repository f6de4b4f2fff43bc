#include "simcore/quantity.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "simcore/quantity_text.hpp"
#include "simcore/random.hpp"

using namespace shardsim::simcore;

namespace {

template <class Value>
std::string error_of(const std::expected<Value, std::string>& parsed) {
  return parsed ? "no error" : parsed.error();
}

/// Random values over the whole range: a random number of random bits.
std::int64_t random_count(RandomStream& random) {
  return static_cast<std::int64_t>(random.bits() >> (1 + random.below(63)));
}

}  // namespace

TEST_CASE("a quantity is a number and a unit, with or without a blank") {
  CHECK(parse_bytes("80 GiB") == Bytes{80LL << 30});
  CHECK(parse_bytes("80GiB") == Bytes{80LL << 30});
  CHECK(parse_bytes("80 GB") == Bytes{80'000'000'000});
  CHECK(parse_bytes("  16 B ") == Bytes{16});
  CHECK(parse_bytes("1.5 KiB") == Bytes{1536});
  CHECK(parse_bytes("+4e3 kB") == Bytes{4'000'000});
  CHECK(parse_bytes("0 B") == Bytes{0});
  CHECK(parse_bit_rate("400 Gbit/s") == BitRate{50e9});
  CHECK(parse_bit_rate("50 GB/s") == BitRate{50e9});
  CHECK(parse_bit_rate("1 GiB/s") == BitRate{1073741824.0});
  CHECK(parse_flop_rate("989 TFLOP/s") == FlopRate{989e12});
  CHECK(parse_fraction("50 %") == Fraction{0.5});
  CHECK(parse_fraction("0.5") == Fraction{0.5});
  CHECK(parse_fraction("150%") == Fraction{1.5});
}

TEST_CASE("times are read in every unit from ps to h") {
  CHECK(parse_time("7 ps") == SimTime::picoseconds(7));
  CHECK(parse_time("7 ns") == SimTime::nanoseconds(7));
  CHECK(parse_time("2.5 us") == SimTime::nanoseconds(2500));
  CHECK(parse_time("2.5 µs") == SimTime::nanoseconds(2500));
  CHECK(parse_time("3 ms") == SimTime::microseconds(3000));
  CHECK(parse_time("1e-3 s") == SimTime::microseconds(1000));
  CHECK(parse_time("2 min") == SimTime::microseconds(120'000'000));
  CHECK(parse_time("0.5 h") == SimTime::microseconds(1'800'000'000));
  CHECK(parse_time("0 s") == SimTime{});
}

TEST_CASE("decimal conversion is exact or correctly rounded") {
  CHECK(parse_bytes("9007199254740993 B") == Bytes{9'007'199'254'740'993});  // 2^53 + 1
  CHECK(parse_bytes("9223372036854775807 B") == Bytes{INT64_MAX});
  CHECK(parse_bytes("0.0000000000000000001e19 B") == Bytes{1});
  CHECK(parse_time("1.2345678 us") == SimTime::picoseconds(1'234'568));
  CHECK(parse_time("0.5 ps") == SimTime::picoseconds(1));
  CHECK(parse_time("2.4999 ps") == SimTime::picoseconds(2));
  CHECK(parse_bit_rate("0.1 GB/s") == BitRate{1e8});
  CHECK(parse_bit_rate("31.5 GB/s") == BitRate{31.5e9});
  CHECK(parse_fraction("7 %") == Fraction{0.07});
  CHECK(parse_fraction("92.3 %") == Fraction{0.923});
}

TEST_CASE("a bare number where a unit belongs is an error") {
  CHECK(error_of(parse_bytes("80")) == "expected a number with a unit, e.g. '80 GiB', found '80'");
  CHECK(error_of(parse_bit_rate("400e9")) ==
        "expected a number with a unit, e.g. '400 Gbit/s', found '400e9'");
  CHECK(error_of(parse_time("0")) == "expected a number with a unit, e.g. '2.5 us', found '0'");
}

TEST_CASE("what is not a number is an error") {
  for (const char* text : {"", " ", "GiB", "NaN GiB", "nan", "inf GiB", ".inf", "- 5 GiB", ".",
                           ". GiB", "e3 GiB", "+", "0x10x GiB", "many"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_bytes(text).has_value());
    CHECK_FALSE(parse_bit_rate(text).has_value());
    CHECK_FALSE(parse_fraction(text).has_value());
  }
}

TEST_CASE("an unknown unit names the nearest one") {
  CHECK(error_of(parse_bytes("80 GIB"))
            .starts_with("unknown unit 'GIB' in '80 GIB'; did you mean 'GiB'? (units: B, kB, MB"));
  CHECK(error_of(parse_bytes("80 KB")).contains("did you mean 'kB'?"));
  CHECK(error_of(parse_bit_rate("400 Gbps")).contains("did you mean 'Gbit/s'?"));
  CHECK(error_of(parse_bit_rate("400 Gb/s")).contains("did you mean 'Gbit/s'?"));
  CHECK(error_of(parse_bit_rate("50 GBps")).contains("did you mean 'GB/s'?"));
  CHECK(error_of(parse_flop_rate("989 TFLOPS")).contains("did you mean 'TFLOP/s'?"));
  CHECK(error_of(parse_time("3 usec")).contains("did you mean 'us'?") == false);
  CHECK(error_of(parse_time("3 us us")).contains("unknown unit 'us us'"));
  CHECK(error_of(parse_bytes("80 GiB x")).contains("unknown unit 'GiB x'"));
}

TEST_CASE("negative, huge, tiny and grouped numbers are errors") {
  CHECK(error_of(parse_bytes("-5 GiB")) == "'-5 GiB': must not be negative");
  CHECK(error_of(parse_bytes("8589934592 GiB")) == "'8589934592 GiB' is too large");
  CHECK(error_of(parse_bytes("1e999999999999 B")) == "'1e999999999999 B' is too large");
  CHECK(error_of(parse_bit_rate("1e300 TB/s")) == "'1e300 TB/s' is too large");
  CHECK(error_of(parse_bit_rate("1e-400 B/s")) == "'1e-400 B/s' is too small");
  CHECK(error_of(parse_time("3000 h")) == "'3000 h' is too large");
  CHECK(error_of(parse_time("0.4 ps")) == "'0.4 ps' is too small: less than half a ps");
  CHECK(error_of(parse_time("1e-99 s")) == "'1e-99 s' is too small: less than half a ps");
  CHECK(error_of(parse_bytes("1.5 B")) == "'1.5 B' is not a whole number of bytes");
  CHECK(error_of(parse_bytes("0.1 KiB")) == "'0.1 KiB' is not a whole number of bytes");
  CHECK(error_of(parse_bytes("1,000 B")).contains("without separators"));
  CHECK(error_of(parse_time("2,5 us")).contains("a point for decimals"));
  CHECK(error_of(parse_bytes("010 GiB")).contains("without leading zeros"));
}

TEST_CASE("printing for people keeps four digits in the unit that suits") {
  CHECK(to_text(Bytes{80LL << 30}) == "80 GiB");
  CHECK(to_text(Bytes{0}) == "0 B");
  CHECK(to_text(Bytes{1023}) == "1023 B");
  CHECK(to_text(Bytes{1'234'567'890}) == "1.15 GiB");
  CHECK(to_text(Bytes{(1LL << 30) - 1}) == "1 GiB");
  CHECK(to_text(BitRate{50e9}) == "50 GB/s");
  CHECK(to_text(BitRate{999.96e9}) == "1 TB/s");
  CHECK(to_text(FlopRate{989.4e12}) == "989.4 TFLOP/s");
  CHECK(to_text(Fraction{0.12345}) == "12.35 %");
  CHECK(to_text(SimTime::nanoseconds(2500)) == "2.5 us");
  CHECK(to_text(SimTime::picoseconds(1'234'567'890)) == "1.235 ms");
  CHECK(to_text(SimTime{}) == "0 s");
  CHECK(to_text(SimTime{} - SimTime::nanoseconds(3)) == "-3 ns");
  CHECK(to_text(SimTime::never()) == "never");
  CHECK(to_text(BitRate{std::numeric_limits<double>::infinity()}) == "inf B/s");
}

TEST_CASE("exact printing chooses the shortest form") {
  CHECK(to_exact_text(Bytes{80LL << 30}) == "80 GiB");
  CHECK(to_exact_text(Bytes{80'000'000'000}) == "80 GB");
  CHECK(to_exact_text(Bytes{1000}) == "1 kB");
  CHECK(to_exact_text(Bytes{1023}) == "1023 B");
  CHECK(to_exact_text(SimTime::nanoseconds(2500)) == "2.5 us");
  CHECK(to_exact_text(SimTime::picoseconds(1'234'567)) == "1234567 ps");
  CHECK(to_exact_text(BitRate{50e9}) == "50 GB/s");
  CHECK(to_exact_text(Fraction{0.07}) == "7 %");
}

TEST_CASE("what is printed exactly reads back as the same value") {
  RandomStream random(1, "round_trip");
  for (int i = 0; i < 5000; ++i) {
    const std::int64_t count = random_count(random);
    CAPTURE(count);
    CHECK(parse_bytes(to_exact_text(Bytes{count})) == Bytes{count});
    const SimTime time = SimTime::picoseconds(count);
    CHECK(parse_time(to_exact_text(time)) == time);
    const double real = portable_exp(random.uniform(-60, 60));
    CAPTURE(real);
    CHECK(parse_bit_rate(to_exact_text(BitRate{real})) == BitRate{real});
    CHECK(parse_flop_rate(to_exact_text(FlopRate{real})) == FlopRate{real});
    CHECK(parse_fraction(to_exact_text(Fraction{real})) == Fraction{real});
  }
  CHECK(parse_bytes(to_exact_text(Bytes{INT64_MAX})) == Bytes{INT64_MAX});
  CHECK(parse_time(to_exact_text(SimTime::never())) == SimTime::never());
}

TEST_CASE("what is printed for people reads back within half of the last digit") {
  RandomStream random(2, "round_trip");
  for (int i = 0; i < 2000; ++i) {
    const double real = portable_exp(random.uniform(0, 35));
    CAPTURE(real);
    const auto rate = parse_bit_rate(to_text(BitRate{real}));
    REQUIRE(rate.has_value());
    CHECK(rate->bytes_per_second == doctest::Approx(real).epsilon(5.1e-4));
    const std::int64_t count = random_count(random);
    const auto time = parse_time(to_text(SimTime::picoseconds(count)));
    REQUIRE(time.has_value());
    CHECK(static_cast<double>(time->picoseconds()) ==
          doctest::Approx(static_cast<double>(count)).epsilon(5.1e-4));
  }
}

TEST_CASE("another room's kind of quantity gets the same strictness") {
  constexpr std::array<QuantityUnit, 2> units{{{.symbol = "W"}, {.symbol = "kW", .decimal = 3}}};
  const QuantityKind power{"power", "700 W", units};
  CHECK(parse_real("0.7 kW", power) == 700.0);
  CHECK(format_exact(700.0, power) == "700 W");
  CHECK(error_of(parse_real("700", power)) ==
        "expected a number with a unit, e.g. '700 W', found '700'");
}

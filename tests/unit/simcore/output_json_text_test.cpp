#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "simcore/output/json_text.hpp"

using namespace shardsim::simcore;

namespace {

std::string json_string(std::string_view text) {
  std::string out;
  append_json_string(out, text);
  return out;
}

template <class Number>
std::string number(Number value) {
  std::string out;
  append_json_number(out, value);
  return out;
}

std::string microseconds(std::int64_t picoseconds) {
  std::string out;
  append_microseconds(out, SimTime::picoseconds(picoseconds));
  return out;
}

}  // namespace

TEST_CASE("strings are quoted and what JSON reserves is escaped") {
  CHECK(json_string("") == "\"\"");
  CHECK(json_string("AG0") == "\"AG0\"");
  CHECK(json_string("a\"b\\c") == R"("a\"b\\c")");
  CHECK(json_string("\n\r\t\b\x1f") == R"("\n\r\t\u0008\u001f")");
  CHECK(json_string(std::string_view("\0x", 2)) == R"("\u0000x")");
  CHECK(json_string("</script>/") == "\"</script>/\"");
}

TEST_CASE("characters beyond ASCII stand for themselves") {
  for (const std::string text : {"é", "ऑल-गैदर", "𝄞", "\u2028", "\x7f"}) {
    CHECK(json_string(text) == "\"" + text + "\"");
    CHECK(nlohmann::json::parse(json_string(text)) == text);
  }
}

TEST_CASE("each byte that belongs to no character becomes U+FFFD") {
  CHECK(json_string("a\xff"
                    "b") == "\"a\uFFFDb\"");
  CHECK(json_string("\xc3") == "\"\uFFFD\"");                      // cut off
  CHECK(json_string("\xc0\xaf") == "\"\uFFFD\uFFFD\"");            // overlong
  CHECK(json_string("\xed\xa0\x80") == "\"\uFFFD\uFFFD\uFFFD\"");  // a surrogate
  CHECK(json_string("\xf4\x90\x80\x80x") == "\"\uFFFD\uFFFD\uFFFD\uFFFDx\"");
}

TEST_CASE("any bytes give text that a JSON parser accepts") {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random() % 256);
    const std::string text = json_string(bytes);
    CAPTURE(text);
    CHECK(nlohmann::json::accept(text));
  }
}

TEST_CASE("doubles take the fewest digits that read back as the same value") {
  CHECK(number(0.1) == "0.1");
  CHECK(number(1.0) == "1.0");
  CHECK(number(-0.0) == "-0.0");
  CHECK(number(1.0 / 3) == "0.3333333333333333");
  CHECK(number(1e300) == "1e+300");
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const double value = std::bit_cast<double>(random());
    if (!std::isfinite(value)) continue;
    CHECK(nlohmann::json::parse(number(value)).get<double>() == value);
  }
}

TEST_CASE("what is not finite becomes null") {
  CHECK(number(std::numeric_limits<double>::infinity()) == "null");
  CHECK(number(-std::numeric_limits<double>::infinity()) == "null");
  CHECK(number(std::numeric_limits<double>::quiet_NaN()) == "null");
}

TEST_CASE("integers keep all their digits") {
  CHECK(number(INT64_MIN) == "-9223372036854775808");
  CHECK(number(UINT64_MAX) == "18446744073709551615");
}

TEST_CASE("microseconds are exact, with three to six decimals") {
  CHECK(microseconds(0) == "0.000");
  CHECK(microseconds(1) == "0.000001");
  CHECK(microseconds(12'345'678) == "12.345678");
  CHECK(microseconds(1'500'000) == "1.500");
  CHECK(microseconds(1'500'100) == "1.5001");
  CHECK(microseconds(-250'000) == "-0.250");
  CHECK(microseconds(INT64_MAX) == "9223372036854.775807");
  CHECK(microseconds(INT64_MIN) == "-9223372036854.775808");
}

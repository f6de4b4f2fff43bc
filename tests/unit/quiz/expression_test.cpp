// The language of claims.
#include "quiz/evidence/expression.hpp"

#include <string>

#include <doctest/doctest.h>

namespace shardsim::quiz {
namespace {

const RunFacts facts{
    {"a",
     {{"bytes", {1000, in_bytes}},
      {"time", {0.002, in_seconds}},
      {"count", {8, no_dimension}},
      {"zero", {0, no_dimension}}}},
    {"b", {{"bytes", {8000, in_bytes}}, {"fed_by_all_gather", {3, no_dimension}}}}};

/// "true", "false", or why there is no truth.
std::string truth(const std::string& text) {
  const auto parsed = Expression::parse(text);
  if (!parsed) return "parse: " + parsed.error().message;
  const auto value = parsed->evaluate(facts);
  if (!value) return value.error();
  const bool* holds = std::get_if<bool>(&*value);
  return holds == nullptr ? "a number" : *holds ? "true" : "false";
}

double number(const std::string& text) {
  return std::get<Quantity>(*Expression::parse(text)->evaluate(facts)).value;
}

TEST_CASE("products bind closer than sums, sums than comparisons, and than or") {
  CHECK(number("2 + 3 * 4") == 14);
  CHECK(number("(2 + 3) * 4") == 20);
  CHECK(number("20 / 2 / 5") == 2);
  CHECK(number("10 - 3 - 2") == 5);
  CHECK(number("-a.count + 1") == -7);
  CHECK(truth("1 + 1 == 2 and 2 * 3 > 5") == "true");
  CHECK(truth("1 == 1 or 1 == 2 and 1 == 3") == "true");
  CHECK(truth("(1 == 1 or 1 == 2) and 1 == 3") == "false");
  CHECK(truth("not 1 == 2 and not 2 == 3") == "true");
}

TEST_CASE("every comparison holds where it should, and at its bounds") {
  CHECK(truth("1 < 2") == "true");
  CHECK(truth("2 < 2") == "false");
  CHECK(truth("2 <= 2") == "true");
  CHECK(truth("2 > 2") == "false");
  CHECK(truth("2 >= 2") == "true");
  CHECK(truth("2 != 2") == "false");
}

TEST_CASE("near is relative to the larger, and symmetric") {
  CHECK(truth("a.bytes * 8 ~ b.bytes within 1 %") == "true");
  CHECK(truth("95 ~ 100 within 5 %") == "true");
  CHECK(truth("100 ~ 95 within 5 %") == "true");
  CHECK(truth("94.9 ~ 100 within 5 %") == "false");
  CHECK(truth("0 ~ 1 within 99 %") == "false");
  CHECK(truth("0 ~ 0 within 0 %") == "true");
}

TEST_CASE("units are part of numbers, and dimensions are kept apart") {
  CHECK(truth("a.bytes == 1000 B") == "true");
  CHECK(truth("1 KiB == 1024 B and 1 MiB == 1024 KiB and 1 GiB == 1024 MiB") == "true");
  CHECK(truth("a.time == 2 ms and a.time < 1 s and 1 us < 1 ms") == "true");
  CHECK(truth("a.bytes < a.time").find("do not go together") != std::string::npos);
  CHECK(truth("a.bytes == 1000").find("do not go together") != std::string::npos);
  CHECK(truth("a.bytes / a.time > b.bytes / 1 s") == "true");
  CHECK(truth("a.bytes / b.bytes == 0.125") == "true");
}

TEST_CASE("what cannot be evaluated says so") {
  CHECK(truth("c.bytes > 0 B") == "there is no 'c.bytes'");
  CHECK(truth("a.nothing > 0 B") == "there is no 'a.nothing'");
  CHECK(truth("a.count / a.zero > 1") == "division by zero");
  CHECK(truth("a.count and a.count").find("comparisons on both sides") != std::string::npos);
  CHECK(truth("not a.count").find("needs a comparison") != std::string::npos);
  CHECK(truth("(1 == 1) + 1").find("number is needed") != std::string::npos);
  CHECK(truth("a.count") == "a number");
}

TEST_CASE("what is no expression is refused") {
  for (const char* text : {"", "1 +", "(1", "1)", "a", "a.", "bytes > 1", "1 ~ 2", "1 ~ 2 within 5",
                           "1 2", "and", "1 < 2 < 3", "$", "a.b or"}) {
    CAPTURE(text);
    CHECK_FALSE(Expression::parse(text).has_value());
  }
  CHECK_FALSE(Expression::parse(std::string(100'000, '(')).has_value());
  CHECK_FALSE(Expression::parse(std::string(100'000, '-') + "1").has_value());
}

TEST_CASE("names are listed once, in their order; keywords may begin a name") {
  const auto parsed = Expression::parse("b.bytes > a.bytes and b.bytes > 0 B and b.bytes > 1 B");
  REQUIRE(parsed);
  CHECK(parsed->names() == std::vector<std::string>{"b.bytes", "a.bytes"});
  CHECK(Expression::parse("order.x == notes.y and android.z == 1")->names() ==
        std::vector<std::string>{"order.x", "notes.y", "android.z"});
}

}  // namespace
}  // namespace shardsim::quiz

// Numbers, plurals, placeholders, widths: what differs between languages.
#include <string>

#include <doctest/doctest.h>

#include "quiz/text/display_width.hpp"
#include "quiz/text/language_rules.hpp"
#include "quiz/text/phrase.hpp"

namespace shardsim::quiz {
namespace {

const LanguageRules english{PluralRule::only_one, Grouping::thousands};
const LanguageRules hindi{PluralRule::up_to_one, Grouping::indian};
const LanguageRules malay{PluralRule::single, Grouping::thousands};

TEST_CASE("English counts 1 as one, Hindi 0 and 1, Malay none") {
  const int ones[][4] = {{0, 0, 1, 0}, {1, 1, 1, 0}, {2, 0, 0, 0}, {11, 0, 0, 0}, {101, 0, 0, 0}};
  for (const auto& [number, in_english, in_hindi, in_malay] : ones) {
    CAPTURE(number);
    CHECK(is_one(english.plural, number) == (in_english == 1));
    CHECK(is_one(hindi.plural, number) == (in_hindi == 1));
    CHECK(is_one(malay.plural, number) == (in_malay == 1));
  }
  CHECK(is_one(hindi.plural, 0.5));
}

TEST_CASE("digits are grouped by thousands or in the Indian way") {
  CHECK(grouped(english, 0) == "0");
  CHECK(grouped(english, 999) == "999");
  CHECK(grouped(english, 1000) == "1,000");
  CHECK(grouped(english, 123456789) == "123,456,789");
  CHECK(grouped(malay, 1234567) == "1,234,567");
  CHECK(grouped(hindi, 999) == "999");
  CHECK(grouped(hindi, 1000) == "1,000");
  CHECK(grouped(hindi, 123456) == "1,23,456");
  CHECK(grouped(hindi, 12345678) == "1,23,45,678");
  CHECK(grouped(hindi, -123456) == "-1,23,456");
}

TEST_CASE("numbers have three digits, whole ones all of them; symbols are not translated") {
  CHECK(number_text(english, 16.0000000001) == "16");
  CHECK(number_text(english, 1.4321) == "1.43");
  CHECK(number_text(english, 24.99) == "25.0");
  CHECK(number_text(english, 123.4) == "123");
  CHECK(number_text(hindi, 123456.7) == "1,23,457");
  CHECK(quantity_text(hindi, {1024.0 * 1024 * 1024 * 1.5, in_bytes}) == "1.5 GiB");
  CHECK(quantity_text(malay, {0.0125, in_seconds}) == "12.5 ms");
}

TEST_CASE("a phrase that counts takes the form of its number") {
  const Phrase phrase{"n", "{n} run in {time}", "{n} runs in {time}"};
  const auto in = [&](const LanguageRules& rules, std::int64_t n) {
    return fill(phrase, {{"n", filling(rules, n)}, {"time", filling("2 ms")}}, rules);
  };
  CHECK(in(english, 1) == "1 run in 2 ms");
  CHECK(in(english, 0) == "0 runs in 2 ms");
  CHECK(in(hindi, 0) == "0 run in 2 ms");
  CHECK(in(malay, 1) == "1 runs in 2 ms");
  CHECK(placeholders(phrase) == std::vector<std::string>{"n", "time"});
}

TEST_CASE("placeholders without a value and stray braces stay as they are") {
  CHECK(fill("{a} and {b}", {{"a", filling("x")}}) == "x and {b}");
  CHECK(fill("{a", {{"a", filling("x")}}) == "{a");
  CHECK(fill("a}", {}) == "a}");
  CHECK(fill("", {}).empty());
  CHECK(fill("{a}", {{"a", filling("{b}")}, {"b", filling("x")}}) == "{b}");
}

TEST_CASE("marks above and below Devanagari letters take no column, spacing vowels one") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("कि") == 2);     // a letter and a spacing sign
  CHECK(display_width("कु") == 1);      // a sign below
  CHECK(display_width("हिन्दी") == 5);  // the virama takes none
  CHECK(display_width("प्रश्न") == 4);
  CHECK(display_width("漢字") == 4);
  CHECK(display_width("") == 0);
}

TEST_CASE("lines break at blanks, never within a word or a number with its unit") {
  CHECK(wrap("aa bb cc", 5) == std::vector<std::string>{"aa bb", "cc"});
  CHECK(wrap("aaaaaaaa b", 4) == std::vector<std::string>{"aaaaaaaa", "b"});
  CHECK(wrap("", 10) == std::vector<std::string>{""});
  CHECK(wrap("  a   b  ", 10) == std::vector<std::string>{"a b"});
  CHECK(wrap("has " + without_blanks("416 MiB"), 7) == std::vector<std::string>{"has", "416 MiB"});
  for (const std::string& line : wrap("हिन्दी में एक लंबा वाक्य जो कई पंक्तियों में टूटता है", 12)) {
    CHECK(display_width(line) <= 12);
  }
}

}  // namespace
}  // namespace shardsim::quiz

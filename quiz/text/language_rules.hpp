// How a language counts and writes numbers.
//
// Plural categories are those of Unicode CLDR: English has "one" for 1, Hindi for 0 and 1 (and
// fractions between), Malay has a single form. Digits are grouped by thousands, or in the Indian
// way (1,23,456). The decimal point is a point in all of them. Symbols (GiB, ms) are the same in
// every language.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "quiz/evidence/quantity.hpp"
#include "simcore/config/codec.hpp"

namespace shardsim::quiz {

enum class PluralRule : std::uint8_t {
  single,     ///< one form for every number
  only_one,   ///< 1 differs
  up_to_one,  ///< 0 to 1 differ
};
enum class Grouping : std::uint8_t { thousands, indian };

struct LanguageRules {
  PluralRule plural = PluralRule::only_one;
  Grouping grouping = Grouping::thousands;
};

/// True for the category "one", false for "other".
bool is_one(PluralRule rule, double number);

/// "1,234,567" or "12,34,567".
std::string grouped(const LanguageRules& rules, std::int64_t number);

/// A whole number grouped; any other with three significant digits.
std::string number_text(const LanguageRules& rules, double number);

/// With its symbol: "29.92 GiB", "11.06 ms"; what has another dimension as a number.
std::string quantity_text(const LanguageRules& rules, const Quantity& quantity);

}  // namespace shardsim::quiz

namespace shardsim::simcore {

template <>
struct EnumNames<quiz::PluralRule> {
  static constexpr auto values =
      std::to_array<EnumName<quiz::PluralRule>>({{"single", quiz::PluralRule::single},
                                                 {"only_one", quiz::PluralRule::only_one},
                                                 {"up_to_one", quiz::PluralRule::up_to_one}});
};
template <>
struct EnumNames<quiz::Grouping> {
  static constexpr auto values = std::to_array<EnumName<quiz::Grouping>>(
      {{"thousands", quiz::Grouping::thousands}, {"indian", quiz::Grouping::indian}});
};

}  // namespace shardsim::simcore

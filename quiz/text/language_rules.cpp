#include "quiz/text/language_rules.hpp"

#include <cmath>

#include <fmt/format.h>

#include "simcore/quantity.hpp"
#include "simcore/time.hpp"

namespace shardsim::quiz {

bool is_one(PluralRule rule, double number) {
  switch (rule) {
    case PluralRule::single:
      return false;
    case PluralRule::only_one:
      return number == 1;
    case PluralRule::up_to_one:
      return number >= 0 && number <= 1;
  }
  return false;
}

std::string grouped(const LanguageRules& rules, std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  const std::size_t sign = number < 0 ? 1 : 0;
  std::size_t group = 3;
  for (std::size_t end = digits.size(); end > sign + group;) {
    end -= group;
    digits.insert(end, ",");
    if (rules.grouping == Grouping::indian) group = 2;
  }
  return digits;
}

std::string number_text(const LanguageRules& rules, double number) {
  if (std::abs(number) < 1e15 && std::abs(number - std::round(number)) < 1e-9) {
    return grouped(rules, std::llround(number));
  }
  const double size = std::abs(number);
  if (size >= 999.5) return grouped(rules, std::llround(number));
  const int decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f}", number, decimals);
}

std::string quantity_text(const LanguageRules& rules, const Quantity& quantity) {
  if (quantity.dimension == in_bytes) {
    return simcore::to_text(simcore::Bytes{std::llround(quantity.value)});
  }
  if (quantity.dimension == in_seconds) {
    return simcore::to_text(simcore::SimTime::from_seconds(quantity.value));
  }
  return number_text(rules, quantity.value);
}

}  // namespace shardsim::quiz

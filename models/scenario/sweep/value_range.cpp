#include "models/scenario/sweep/value_range.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "simcore/decimal_number.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

namespace {

struct Range {
  double first = 0;
  double last = 0;
  char operation = '+';
  double step = 1;
  bool whole = false;
  std::string unit;
};

/// Cuts a number off the front of `text`.
std::optional<simcore::DecimalNumber> take_number(std::string_view& text) {
  auto number = simcore::parse_decimal_prefix(text);
  if (number) text.remove_prefix(number->length);
  return number;
}

std::unexpected<std::string> no_range(std::string_view text, std::string_view meant = {}) {
  return std::unexpected(
      fmt::format("expected a value, or a range such as 1..8, 1..9+2, 1..64*2, found {}{}",
                  simcore::quote(text), simcore::did_you_mean(meant)));
}

/// The range that "1-8" is meant as; empty for any other text.
std::string range_with_dash(std::string_view text) {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  const auto is_count = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = text.substr(dash + 1);
  return is_count(first) && is_count(last) ? fmt::format("{}..{}", first, last) : std::string();
}

std::expected<std::optional<Range>, std::string> parse(std::string_view text) {
  if (const std::string meant = range_with_dash(text); !meant.empty()) {
    return no_range(text, meant);
  }
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  std::string_view before = text.substr(0, dots);
  const auto first = take_number(before);
  if (!first || !before.empty()) return std::nullopt;
  std::string_view after = text.substr(dots + 2);
  if (after.starts_with('.')) return std::nullopt;  // an ellipsis
  const auto last = take_number(after);
  if (!last) return no_range(text);
  Range range;
  range.first = first->to_double();
  range.last = last->to_double();
  range.whole = first->to_whole() && last->to_whole();
  range.operation = range.last < range.first ? '-' : '+';
  if (!after.empty() && std::string_view("+-*/").contains(after.front())) {
    range.operation = after.front();
    after.remove_prefix(1);
    const auto step = take_number(after);
    if (!step) return no_range(text);
    range.step = step->to_double();
    range.whole &= step->to_whole().has_value();
  }
  range.unit = after;
  return std::optional(std::move(range));
}

bool approaches_last(const Range& range) {
  const bool up = range.last > range.first;
  switch (range.operation) {
    case '+':
      return range.step > 0 && up;
    case '-':
      return range.step > 0 && !up;
    case '*':
      return range.first > 0 && (up ? range.step > 1 : range.step > 0 && range.step < 1);
    default:
      return range.first > 0 && (up ? range.step > 0 && range.step < 1 : range.step > 1);
  }
}

double value_at(const Range& range, double i) {
  switch (range.operation) {
    case '+':
      return range.first + i * range.step;
    case '-':
      return range.first - i * range.step;
    case '*':
      return range.first * std::pow(range.step, i);
    default:
      return range.first / std::pow(range.step, i);
  }
}

std::string print(const Range& range, double value) {
  constexpr int digits = 12;
  const bool whole = range.whole && value == std::floor(value) && std::abs(value) < 0x1p53;
  const std::string number =
      whole ? simcore::exact_decimal(static_cast<std::int64_t>(value)).to_text()
            : simcore::rounded_decimal(value, digits).to_text();
  return number + range.unit;
}

}  // namespace

std::expected<std::optional<std::vector<std::string>>, std::string> expand_range(
    std::string_view text) {
  const auto parsed = parse(text);
  if (!parsed) return std::unexpected(parsed.error());
  if (!*parsed) return std::nullopt;
  const std::optional<Range>& range = *parsed;
  std::vector<std::string> values{print(*range, range->first)};
  if (range->first == range->last) return values;
  if (!approaches_last(*range)) {
    return std::unexpected(
        fmt::format("the range {} never reaches its end: expected FIRST..LAST, FIRST..LAST+STEP or "
                    "FIRST..LAST*FACTOR",
                    simcore::quote(text)));
  }
  constexpr double tolerance = 1e-9;
  const double slack = tolerance * std::abs(range->last);
  const bool up = range->last > range->first;
  for (double i = 1;; ++i) {
    const double value = value_at(*range, i);
    if (up ? value > range->last + slack : value < range->last - slack) return values;
    if (values.size() == most_range_values) {
      return std::unexpected(
          fmt::format("the range {} has more than {} values, the most that an axis may have",
                      simcore::quote(text), most_range_values));
    }
    values.push_back(print(*range, value));
  }
}

}  // namespace shardsim::scenario

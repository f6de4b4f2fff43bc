#include "models/scenario/sweep/metric.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "simcore/decimal_number.hpp"
#include "simcore/diagnostics.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::scenario {

namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::expected<double, std::string> parse_number(std::string_view text) {
  const auto number = simcore::parse_decimal_prefix(text);
  if (number && number->length == text.size()) return number->to_double();
  return std::unexpected(fmt::format("expected a number, found '{}'", text));
}

std::expected<double, std::string> parse_bound(std::string_view text, MetricUnit unit) {
  switch (unit) {
    case MetricUnit::seconds: {
      const auto time = simcore::parse_time(text);
      if (!time) return std::unexpected(time.error());
      return time->seconds();
    }
    case MetricUnit::bytes: {
      // A bound need not be a whole number of bytes: "79.1 GiB", as summaries print it.
      const auto number = simcore::parse_decimal_prefix(text);
      const auto one = simcore::parse_bytes(number ? "1" + std::string(text.substr(number->length))
                                                   : std::string(text));
      if (!one) {
        const auto whole = simcore::parse_bytes(text);  // its message names what was written
        return std::unexpected(whole ? one.error() : whole.error());
      }
      return number ? number->to_double() * static_cast<double>(one->count)
                    : static_cast<double>(one->count);
    }
    case MetricUnit::fraction: {
      const auto share = simcore::parse_fraction(text);
      if (!share) return std::unexpected(share.error());
      return share->value;
    }
    case MetricUnit::yes_or_no:
      if (text == "true" || text == "yes") return 1;
      if (text == "false" || text == "no") return 0;
      return std::unexpected(fmt::format("expected true or false, found '{}'", text));
    case MetricUnit::number:
    case MetricUnit::money:
      return parse_number(text);
  }
  return parse_number(text);
}

struct Operator {
  std::string_view text;
  Comparison comparison;
};

// Longer ones first, so that "<=" is not taken for "<".
constexpr auto operators = std::to_array<Operator>({{"<=", Comparison::at_most},
                                                    {">=", Comparison::at_least},
                                                    {"==", Comparison::equal},
                                                    {"<", Comparison::less},
                                                    {">", Comparison::greater},
                                                    {"=", Comparison::equal}});

}  // namespace

std::expected<MetricId, std::string> find_metric(std::string_view name) {
  std::vector<std::string> names;
  std::optional<MetricId> by_key;
  for (MetricId id = 0; id < metrics.size(); ++id) {
    const std::string full = metrics[id].name();
    if (full == name) return id;
    if (metrics[id].key == name && !by_key) by_key = id;
    names.push_back(full);
    names.emplace_back(metrics[id].key);
  }
  if (by_key) return *by_key;
  const std::string near = simcore::nearest_spelling(name, names);
  if (!near.empty()) {
    return std::unexpected(
        fmt::format("there is no figure '{}'{}", name, simcore::did_you_mean(near)));
  }
  std::string all;
  for (const Metric& one : metrics) all += (all.empty() ? "" : ", ") + one.name();
  return std::unexpected(fmt::format("there is no figure '{}': expected one of {}", name, all));
}

MetricId metric_id(std::string_view name) {
  const auto found = find_metric(name);
  return found.value_or(0);
}

std::string metric_text(MetricId metric, double value) {
  switch (metrics[metric].unit) {
    case MetricUnit::seconds:
      return simcore::to_text(simcore::SimTime::picoseconds(std::llround(value * 1e12)));
    case MetricUnit::bytes:
      return simcore::to_text(simcore::Bytes{std::llround(value)});
    case MetricUnit::fraction:
      return fmt::format("{:.1f} %", value * 100);
    case MetricUnit::yes_or_no:
      return value != 0 ? "yes" : "no";
    case MetricUnit::money:
      return fmt::format("{:.4g}", value);
    case MetricUnit::number:
      break;
  }
  if (std::abs(value) < 1000) return fmt::format("{:.4g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  for (std::size_t at = digits.size(); at > 3 && digits[at - 4] != '-';) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

bool Constraint::holds(const MetricValues& values) const {
  const std::optional<double>& value = values[metric];
  if (!value) return false;
  switch (comparison) {
    case Comparison::less:
      return *value < bound;
    case Comparison::at_most:
      return *value <= bound;
    case Comparison::greater:
      return *value > bound;
    case Comparison::at_least:
      return *value >= bound;
    case Comparison::equal:
      return *value == bound;
  }
  return false;
}

std::expected<Constraint, std::string> parse_constraint(std::string_view text) {
  Constraint made;
  made.text = trimmed(text);
  const std::size_t at = text.find_first_of("<>=");
  const auto metric = find_metric(trimmed(text.substr(0, at)));
  if (!metric) return std::unexpected(metric.error());
  made.metric = *metric;
  const Metric& of = metrics[*metric];
  if (at == std::string_view::npos) {
    if (of.unit == MetricUnit::yes_or_no) return made;
    return std::unexpected(
        fmt::format("'{}': expected a comparison, e.g. '{} < VALUE'", made.text, of.name()));
  }
  const auto sign = std::ranges::find_if(
      operators, [&](const Operator& one) { return text.substr(at).starts_with(one.text); });
  made.comparison = sign->comparison;
  const auto bound = parse_bound(trimmed(text.substr(at + sign->text.size())), of.unit);
  if (!bound) return std::unexpected(fmt::format("'{}': {}", made.text, bound.error()));
  made.bound = *bound;
  return made;
}

}  // namespace shardsim::scenario

#include "models/nccl/xml_fields.hpp"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace shardsim::nccl {
namespace {

/// All of `text` as a number, or nothing.
template <class Number, class... Base>
std::optional<Number> whole_number(std::string_view text, Base... base) {
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value, base...);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

std::string_view without_prefix(std::string_view text) {
  const bool prefixed = text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  return prefixed ? text.substr(2) : text;
}

std::optional<std::int64_t> decimal_or_hexadecimal(std::string_view text) {
  const std::string_view digits = without_prefix(text);
  if (digits.size() == text.size()) return whole_number<std::int64_t>(text);
  if (digits.front() == '-') return std::nullopt;
  return whole_number<std::int64_t>(digits, 16);
}

}  // namespace

void XmlFields::bad(std::string_view name, std::string_view expected) const {
  diagnostics_.error(element_.where,
                     fmt::format("attribute '{}' of <{}> is {}: expected {}", name, element_.name,
                                 simcore::quote(*element_.attribute(name)), expected));
}

const std::string* XmlFields::require(std::string_view name) const {
  const std::string* const value = element_.attribute(name);
  if (value == nullptr) {
    diagnostics_.error(element_.where,
                       fmt::format("<{}> has no attribute '{}'", element_.name, name));
  }
  return value;
}

std::string XmlFields::text(std::string_view name) const {
  const std::string* const value = element_.attribute(name);
  return value == nullptr ? std::string() : *value;
}

std::string XmlFields::required_text(std::string_view name) const {
  require(name);
  return text(name);
}

std::int64_t XmlFields::integer(std::string_view name, std::int64_t fallback, std::int64_t least,
                                std::int64_t most) const {
  const std::string* const value = element_.attribute(name);
  if (value == nullptr) return fallback;
  const auto parsed = decimal_or_hexadecimal(*value);
  if (parsed && *parsed >= least && *parsed <= most) return *parsed;
  bad(name, fmt::format("a whole number from {} to {}", least, most));
  return fallback;
}

std::int64_t XmlFields::required_integer(std::string_view name, std::int64_t least,
                                         std::int64_t most) const {
  return require(name) == nullptr ? least : integer(name, least, least, most);
}

std::optional<std::uint64_t> XmlFields::hexadecimal(std::string_view name) const {
  const std::string* const value = element_.attribute(name);
  if (value == nullptr) return std::nullopt;
  const auto parsed = whole_number<std::uint64_t>(without_prefix(*value), 16);
  if (!parsed) bad(name, "a hexadecimal number");
  return parsed;
}

double XmlFields::number(std::string_view name, double fallback, double least, double most) const {
  const std::string* const value = element_.attribute(name);
  if (value == nullptr) return fallback;
  const auto parsed = whole_number<double>(*value);
  if (parsed && std::isfinite(*parsed) && *parsed >= least && *parsed <= most) return *parsed;
  bad(name, fmt::format("a number from {} to {}", least, most));
  return fallback;
}

}  // namespace shardsim::nccl

#include "simcore/config/scalar_values.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "simcore/config/number_look_alikes.hpp"
#include "simcore/decimal_number.hpp"
#include "simcore/quantity_text.hpp"

namespace shardsim::simcore {

namespace {

std::string lower(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return folded;
}

template <class Value>
bool check_bounds(const ConfigNode& node, Value magnitude, ReadContext& context) {
  const Bounds* bounds = context.bounds();
  if (bounds == nullptr || bounds->allow(magnitude)) return true;
  return context.error(node,
                       fmt::format("must be {}, found {}", bounds->describe(), node.describe()));
}

bool wrong_integer(const ConfigNode& node, ReadContext& context) {
  const std::string& text = node.text();
  const auto number = parse_decimal_prefix(text);
  const bool whole_text = number && number->length == text.size();
  if (whole_text && number->leading_zero && number->integer_form) {
    return context.error(node, fmt::format("expected an integer, found {}: {}", quote(text),
                                           leading_zero_advice(text)));
  }
  if (whole_text && number->integer_form) {
    return context.error(node, fmt::format("{} is out of range for an integer", quote(text)));
  }
  const std::string meant = integer_meant(text);
  if (meant.empty()) return context.expected(node, "an integer");
  return context.error(node,
                       fmt::format("expected an integer, found {}: write {}", quote(text), meant));
}

/// True if a plain scalar of this text would read as null, so that text must be quoted.
bool reads_as_null(std::string_view text) {
  return text.empty() || text == "~" || lower(text) == "null";
}

bool is_plain_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.' ||
         c == '/' || c == '+' || c == '%' || c == ' ';
}

/// Text that stays itself without quotes, also within brackets.
bool plain_is_safe(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.empty() ? ' ' : text.front());
  const bool good_start = std::isalnum(first) != 0 || first == '_' || first == '/';
  return good_start && text.back() != ' ' && !reads_as_null(text) &&
         std::ranges::all_of(text, is_plain_character);
}

std::string double_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

// ---- Quantities

template <class Value>
bool read_quantity(const ConfigNode& node, const QuantityKind& kind,
                   std::expected<Value, std::string> (*parse)(std::string_view), Value& value,
                   ReadContext& context) {
  if (!node.is_scalar()) {
    return context.expected(node, fmt::format("{}, e.g. '{}'", kind.name, kind.example));
  }
  const auto parsed = parse(node.text());
  if (!parsed) return context.error(node, parsed.error());
  value = *parsed;
  return true;
}

TypeSchema plain_schema(TypeKind kind, std::string name) {
  TypeSchema schema;
  schema.kind = kind;
  schema.name = std::move(name);
  return schema;
}

}  // namespace

bool read_scalar(const ConfigNode& node, bool& value, ReadContext& context) {
  if (node.looks_like_bool()) {
    value = node.text() == "true";
    return true;
  }
  std::string meant;
  if (node.is_scalar()) {
    const std::string text = lower(node.text());
    if (text == "true" || text == "yes" || text == "on" || text == "y") meant = "true";
    if (text == "false" || text == "no" || text == "off" || text == "n") meant = "false";
  }
  return context.expected(node, "true or false", meant);
}

bool read_integer(const ConfigNode& node, std::int64_t low, std::int64_t high, std::int64_t& value,
                  ReadContext& context) {
  if (!node.is_scalar()) return context.expected(node, "an integer");
  if (node.quoted()) return context.expected(node, "an integer without quotes");
  const std::string& text = node.text();
  const auto number = parse_decimal_prefix(text);
  const bool well_formed =
      number && number->length == text.size() && number->integer_form && !number->leading_zero;
  const auto whole = well_formed ? number->to_whole() : std::nullopt;
  if (!whole) return wrong_integer(node, context);
  if (!check_bounds(node, *whole, context)) return false;
  if (*whole < low || *whole > high) {
    return context.error(
        node, fmt::format("must be between {} and {}, found {}", low, high, quote(text)));
  }
  value = *whole;
  return true;
}

bool read_scalar(const ConfigNode& node, double& value, ReadContext& context) {
  if (!node.is_scalar()) return context.expected(node, "a number");
  if (node.quoted()) return context.expected(node, "a number without quotes");
  const std::string& text = node.text();
  if (is_special_number(text)) return context.expected(node, "a finite number");
  const auto number = parse_decimal_prefix(text);
  if (!number || number->length != text.size()) {
    const std::string meant = integer_meant(text);
    if (meant.empty()) return context.expected(node, "a number");
    return context.error(node,
                         fmt::format("expected a number, found {}: write {}", quote(text), meant));
  }
  if (number->leading_zero) {
    return context.error(node, fmt::format("expected a number, found {}: {}", quote(text),
                                           leading_zero_advice(text)));
  }
  const double read = number->to_double();
  if (!std::isfinite(read)) {
    return context.error(node, fmt::format("{} is too large for a number", quote(text)));
  }
  if (!check_bounds(node, read, context)) return false;
  value = read;
  return true;
}

bool read_scalar(const ConfigNode& node, std::string& value, ReadContext& context) {
  if (!node.is_scalar()) return context.expected(node, "text");
  value = node.text();
  return true;
}

bool read_scalar(const ConfigNode& node, SimTime& value, ReadContext& context) {
  SimTime read;
  if (!read_quantity(node, time_kind(), &parse_time, read, context)) return false;
  if (!check_bounds(node, read.picoseconds(), context)) return false;
  value = read;
  return true;
}

bool read_scalar(const ConfigNode& node, Bytes& value, ReadContext& context) {
  Bytes read;
  if (!read_quantity(node, bytes_kind(), &parse_bytes, read, context)) return false;
  if (!check_bounds(node, read.count, context)) return false;
  value = read;
  return true;
}

bool read_scalar(const ConfigNode& node, BitRate& value, ReadContext& context) {
  BitRate read;
  if (!read_quantity(node, bit_rate_kind(), &parse_bit_rate, read, context)) return false;
  if (!check_bounds(node, read.bytes_per_second, context)) return false;
  value = read;
  return true;
}

bool read_scalar(const ConfigNode& node, FlopRate& value, ReadContext& context) {
  FlopRate read;
  if (!read_quantity(node, flop_rate_kind(), &parse_flop_rate, read, context)) return false;
  if (!check_bounds(node, read.flops_per_second, context)) return false;
  value = read;
  return true;
}

bool read_scalar(const ConfigNode& node, Fraction& value, ReadContext& context) {
  Fraction read;
  if (!read_quantity(node, fraction_kind(), &parse_fraction, read, context)) return false;
  if (!check_bounds(node, read.value, context)) return false;
  value = read;
  return true;
}

bool read_name(const ConfigNode& node, std::span<const std::string_view> names, std::size_t& index,
               ReadContext& context) {
  if (node.is_scalar()) {
    const auto found = std::ranges::find(names, std::string_view(node.text()));
    if (found != names.end()) {
      index = static_cast<std::size_t>(found - names.begin());
      return true;
    }
  }
  const std::string what = names.size() == 1 ? fmt::format("{}", names.front())
                                             : fmt::format("one of {}", fmt::join(names, ", "));
  const std::vector<std::string> candidates(names.begin(), names.end());
  return context.expected(node, what,
                          node.is_scalar() ? nearest_spelling(node.text(), candidates) : "");
}

std::string print_scalar(bool value) { return value ? "true" : "false"; }
std::string print_scalar(std::int64_t value) { return std::to_string(value); }
std::string print_scalar(double value) { return shortest_decimal(value).to_text(); }
std::string print_scalar(const std::string& value) {
  return plain_is_safe(value) ? value : double_quoted(value);
}
std::string print_scalar(SimTime value) { return to_exact_text(value); }
std::string print_scalar(Bytes value) { return to_exact_text(value); }
std::string print_scalar(BitRate value) { return to_exact_text(value); }
std::string print_scalar(FlopRate value) { return to_exact_text(value); }
std::string print_scalar(Fraction value) { return to_exact_text(value); }

TypeSchema quantity_schema(const QuantityKind& kind) {
  TypeSchema schema = plain_schema(TypeKind::quantity, std::string(kind.name));
  schema.example = kind.example;
  schema.pattern = quantity_pattern(kind);
  schema.bare_number = kind.bare_number;
  return schema;
}

TypeSchema scalar_schema(const bool*) { return plain_schema(TypeKind::boolean, "true or false"); }
TypeSchema scalar_schema(const std::int64_t*) { return plain_schema(TypeKind::integer, "integer"); }
TypeSchema scalar_schema(const double*) { return plain_schema(TypeKind::real, "number"); }
TypeSchema scalar_schema(const std::string*) { return plain_schema(TypeKind::text, "text"); }
TypeSchema scalar_schema(const SimTime*) { return quantity_schema(time_kind()); }
TypeSchema scalar_schema(const Bytes*) { return quantity_schema(bytes_kind()); }
TypeSchema scalar_schema(const BitRate*) { return quantity_schema(bit_rate_kind()); }
TypeSchema scalar_schema(const FlopRate*) { return quantity_schema(flop_rate_kind()); }
TypeSchema scalar_schema(const Fraction*) { return quantity_schema(fraction_kind()); }

TypeSchema enum_schema(std::span<const std::string_view> names) {
  TypeSchema schema = plain_schema(TypeKind::enumeration, "name");
  schema.values.assign(names.begin(), names.end());
  return schema;
}

Bound make_bound(std::int64_t value) {
  return {value, static_cast<double>(value), print_scalar(value), false};
}
Bound make_bound(double value) { return {0, value, print_scalar(value), false}; }
Bound make_bound(SimTime value) { return {value.picoseconds(), 0, print_scalar(value), false}; }
Bound make_bound(Bytes value) { return {value.count, 0, print_scalar(value), false}; }
Bound make_bound(BitRate value) { return {0, value.bytes_per_second, print_scalar(value), false}; }
Bound make_bound(FlopRate value) { return {0, value.flops_per_second, print_scalar(value), false}; }
Bound make_bound(Fraction value) { return {0, value.value, print_scalar(value), false}; }

}  // namespace shardsim::simcore

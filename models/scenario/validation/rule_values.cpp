#include "models/scenario/validation/rule_values.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "simcore/config/read_context.hpp"
#include "simcore/config/scalar_values.hpp"
#include "simcore/config/yaml_reader.hpp"
#include "simcore/quantity.hpp"

namespace shardsim::scenario {

using simcore::ConfigNode;
using simcore::Diagnostics;
using simcore::FieldSchema;
using simcore::ReadContext;
using simcore::SourceLocation;
using simcore::TypeKind;
using simcore::TypeSchema;

namespace {

template <class T>
void read_as(const ConfigNode& node, ReadContext& context) {
  T value{};
  simcore::read_scalar(node, value, context);
}

/// Quantities differ by their units; a schema tells them by name.
template <class T>
bool is_quantity(const TypeSchema& type) {
  return type.name == simcore::scalar_schema(static_cast<const T*>(nullptr)).name;
}

void read_quantity(const TypeSchema& type, const ConfigNode& node, ReadContext& context) {
  if (is_quantity<simcore::SimTime>(type)) return read_as<simcore::SimTime>(node, context);
  if (is_quantity<simcore::Bytes>(type)) return read_as<simcore::Bytes>(node, context);
  if (is_quantity<simcore::BitRate>(type)) return read_as<simcore::BitRate>(node, context);
  if (is_quantity<simcore::FlopRate>(type)) return read_as<simcore::FlopRate>(node, context);
  if (is_quantity<simcore::Fraction>(type)) return read_as<simcore::Fraction>(node, context);
}

void read_value(const TypeSchema& type, const ConfigNode& node, ReadContext& context) {
  switch (type.kind) {
    case TypeKind::boolean:
      return read_as<bool>(node, context);
    case TypeKind::integer: {
      constexpr auto all = std::numeric_limits<std::int64_t>();
      std::int64_t value = 0;
      simcore::read_integer(node, all.min(), all.max(), value, context);
      return;
    }
    case TypeKind::real:
      return read_as<double>(node, context);
    case TypeKind::text:
      return read_as<std::string>(node, context);
    case TypeKind::quantity:
      return read_quantity(type, node, context);
    case TypeKind::enumeration: {
      const std::vector<std::string_view> names(type.values.begin(), type.values.end());
      std::size_t index = 0;
      simcore::read_name(node, names, index, context);
      return;
    }
    case TypeKind::structure:
      if (!node.is_map()) context.expected(node, "a map of keys");
      return;
    case TypeKind::list:
    case TypeKind::dictionary:
    case TypeKind::choice:
      return;
  }
}

/// The field of a dotted key, or nothing: of a key that is not declared, after an error.
class KeySearch {
 public:
  KeySearch(const SourceLocation& where, Diagnostics& diagnostics)
      : where_(where), diagnostics_(diagnostics) {}

  const FieldSchema* find(const TypeSchema& document, std::string_view key) {
    const TypeSchema* type = &document;
    for (std::size_t at = 0;;) {
      if (type->kind != TypeKind::structure) return open_ended(*type, key.substr(0, at - 1));
      const std::size_t dot = std::min(key.find('.', at), key.size());
      const std::string_view name = key.substr(at, dot - at);
      const auto found =
          std::ranges::find_if(type->fields, [name](const auto& f) { return f.key == name; });
      if (found == type->fields.end()) return unknown(*type, key, name);
      if (dot == key.size()) return &*found;
      type = &found->type;
      at = dot + 1;
    }
  }

 private:
  const FieldSchema* unknown(const TypeSchema& type, std::string_view key, std::string_view name) {
    std::vector<std::string> names;
    for (const FieldSchema& field : type.fields) names.push_back(field.key);
    diagnostics_.error(where_,
                       fmt::format("{} is no key of a scenario: there is no {}",
                                   simcore::quote(key), simcore::quote(name)),
                       simcore::nearest_spelling(name, names));
    return nullptr;
  }

  /// What lies below a dictionary, a list or one of several types is not looked at.
  const FieldSchema* open_ended(const TypeSchema& type, std::string_view parent) {
    const bool open = type.kind == TypeKind::dictionary || type.kind == TypeKind::list ||
                      type.kind == TypeKind::choice;
    if (!open) {
      diagnostics_.error(where_, fmt::format("{} has no keys below it", simcore::quote(parent)));
    }
    return nullptr;
  }

  const SourceLocation& where_;
  Diagnostics& diagnostics_;
};

}  // namespace

void check_set_value(const TypeSchema& document, std::string_view key, const std::string& value,
                     const SourceLocation& where_key, const SourceLocation& where_value,
                     Diagnostics& diagnostics) {
  if (key.empty() || key.find_first_of("\"[=") != std::string_view::npos) return;
  const FieldSchema* const field = KeySearch(where_key, diagnostics).find(document, key);
  if (field == nullptr) return;
  Diagnostics of_text;
  const auto source = std::make_shared<simcore::SourceText>(simcore::SourceText{"", value});
  auto node = simcore::read_yaml_value(source, 0, of_text);
  if (!node) {
    diagnostics.error(where_value,
                      fmt::format("{}: {} is no value of YAML", key, simcore::quote(value)));
    return;
  }
  node->place_at(where_value);
  ReadContext context(diagnostics);
  const ReadContext::Step step(context, key);
  const ReadContext::Limits limits(context, &field->bounds, &field->count);
  read_value(field->type, *node, context);
}

}  // namespace shardsim::scenario

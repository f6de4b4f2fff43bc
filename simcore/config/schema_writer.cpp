#include "simcore/config/schema_writer.hpp"

#include <charconv>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "simcore/config/yaml_reader.hpp"
#include "simcore/decimal_number.hpp"

namespace shardsim::simcore {

namespace {

using Json = nlohmann::ordered_json;

bool is_number(TypeKind kind) { return kind == TypeKind::integer || kind == TypeKind::real; }

Json scalar_to_json(const ConfigNode& node, TypeKind kind) {
  const bool guess = kind == TypeKind::choice;
  if ((guess || kind == TypeKind::boolean) && node.looks_like_bool()) return node.text() == "true";
  if ((guess || is_number(kind)) && !node.quoted()) {
    const auto number = parse_decimal_prefix(node.text());
    if (number && number->length == node.text().size()) {
      const auto whole = number->to_whole();
      return whole && kind != TypeKind::real ? Json(*whole) : Json(number->to_double());
    }
  }
  return node.text();
}

const TypeSchema* field_type(const TypeSchema& type, const std::string& key) {
  for (const FieldSchema& field : type.fields) {
    if (field.key == key) return &field.type;
  }
  return nullptr;
}

/// A printed default as the value that an editor would parse from YAML.
Json value_to_json(const ConfigNode& node, const TypeSchema& type) {
  TypeSchema any;
  any.kind = TypeKind::choice;
  if (node.is_sequence() || node.is_map()) {
    const TypeSchema element = type.element != nullptr ? type.element() : any;
    Json json = node.is_map() ? Json::object() : Json::array();
    for (const ConfigNode& item : node.items()) json.push_back(value_to_json(item, element));
    for (const ConfigEntry& entry : node.entries()) {
      const TypeSchema* of_field = field_type(type, entry.key);
      json[entry.key] = value_to_json(entry.value, of_field != nullptr ? *of_field : element);
    }
    return json;
  }
  return scalar_to_json(node, type.kind);
}

std::optional<Json> default_to_json(const FieldSchema& field) {
  if (field.default_text.empty()) return std::nullopt;
  Diagnostics ignored;
  const auto node =
      read_yaml(std::make_shared<SourceText>(SourceText{"default", field.default_text}), ignored);
  if (!node) return std::nullopt;
  return value_to_json(*node, field.type);
}

std::string description_of(const FieldSchema& field, bool bounds_checked) {
  std::string text = field.doc;
  if (!bounds_checked && !field.bounds.empty()) text += " Must be " + field.bounds.describe() + ".";
  if (!field.since.empty()) text += " Since version " + field.since + ".";
  return text;
}

std::string escape_pointer(std::string_view key) {
  std::string escaped;
  for (const char c : key) {
    if (c == '~') {
      escaped += "~0";
    } else if (c == '/') {
      escaped += "~1";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

class SchemaWriter {
 public:
  /// `bounds` and `count` are those of the field that the type belongs to; `pointer` is where the
  /// schema will stand, for types that contain themselves.
  Json write(const TypeSchema& type, const std::string& pointer, const Bounds& bounds,
             const Bounds& count) {
    switch (type.kind) {
      case TypeKind::boolean:
        return {{"type", "boolean"}};
      case TypeKind::integer:
        return number("integer", bounds, &Bound::integer);
      case TypeKind::real:
        return number("number", bounds, &Bound::real);
      case TypeKind::text:
        // Text need not be quoted, so an editor may take `2.27` for a number.
        return {{"type", Json::array({"string", "number", "boolean"})}};
      case TypeKind::quantity:
        return quantity(type);
      case TypeKind::enumeration:
        return {{"enum", type.values}};
      case TypeKind::structure:
        return structure(type, pointer);
      case TypeKind::list:
      case TypeKind::dictionary:
        return collection(type, pointer, bounds, count);
      case TypeKind::choice:
        break;
    }
    return choice(type, pointer, bounds);
  }

 private:
  template <class Value>
  static Json number(const char* name, const Bounds& bounds, Value Bound::* member) {
    Json json{{"type", name}};
    if (bounds.lower) {
      json[bounds.lower->exclusive ? "exclusiveMinimum" : "minimum"] = (*bounds.lower).*member;
    }
    if (bounds.upper) {
      json[bounds.upper->exclusive ? "exclusiveMaximum" : "maximum"] = (*bounds.upper).*member;
    }
    return json;
  }

  static Json quantity(const TypeSchema& type) {
    Json json{{"type", "string"}, {"pattern", type.pattern}};
    json["examples"] = Json::array({type.example});
    if (type.bare_number) {
      json["type"] = Json::array({"string", "number"});
      json["minimum"] = 0;
    }
    return json;
  }

  Json structure(const TypeSchema& type, const std::string& pointer) {
    Json json{{"type", "object"}, {"properties", Json::object()}};
    Json required = Json::array();
    for (const FieldSchema& field : type.fields) {
      json["properties"][field.key] =
          property(field, pointer + "/properties/" + escape_pointer(field.key));
      if (field.required) required.push_back(field.key);
    }
    if (!required.empty()) json["required"] = std::move(required);
    json["additionalProperties"] = false;
    return json;
  }

  Json property(const FieldSchema& field, const std::string& pointer) {
    Json json = write(field.type, pointer, field.bounds, field.count);
    json["description"] = description_of(field, is_number(field.type.kind));
    if (auto value = default_to_json(field)) json["default"] = std::move(*value);
    if (!field.example.empty()) json["examples"] = Json::array({field.example});
    return json;
  }

  Json collection(const TypeSchema& type, const std::string& pointer, const Bounds& bounds,
                  const Bounds& count) {
    const bool list = type.kind == TypeKind::list;
    const char* element_key = list ? "items" : "additionalProperties";
    Json json{{"type", list ? "array" : "object"}};
    json[element_key] = element(type, pointer + "/" + element_key, bounds);
    if (count.lower) json[list ? "minItems" : "minProperties"] = count.lower->integer;
    if (count.upper) json[list ? "maxItems" : "maxProperties"] = count.upper->integer;
    return json;
  }

  Json element(const TypeSchema& type, const std::string& pointer, const Bounds& bounds) {
    for (const auto& [function, place] : open_) {
      if (function == type.element) return {{"$ref", "#" + place}};
    }
    open_.emplace_back(type.element, pointer);
    Json json = write(type.element(), pointer, bounds, {});
    open_.pop_back();
    return json;
  }

  Json choice(const TypeSchema& type, const std::string& pointer, const Bounds& bounds) {
    if (type.alternatives.empty()) return Json::object();
    Json forms = Json::array();
    for (const TypeSchema& form : type.alternatives) {
      forms.push_back(write(form, pointer + "/anyOf/" + std::to_string(forms.size()), bounds, {}));
    }
    return {{"anyOf", std::move(forms)}};
  }

  /// Element types being written, and where; one that comes again refers there.
  std::vector<std::pair<TypeSchema (*)(), std::string>> open_;
};

}  // namespace

nlohmann::ordered_json write_json_schema(const TypeSchema& type, const SchemaTitle& title) {
  Json json{{"$schema", "https://json-schema.org/draft/2020-12/schema"}};
  if (!title.id.empty()) json["$id"] = title.id;
  if (!title.title.empty()) json["title"] = title.title;
  if (!title.description.empty()) json["description"] = title.description;
  json.update(SchemaWriter().write(type, "", {}, {}));
  return json;
}

}  // namespace shardsim::simcore

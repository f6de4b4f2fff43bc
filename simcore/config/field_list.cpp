#include "simcore/config/field_list.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include <fmt/format.h>

namespace shardsim::simcore {

namespace {

bool check_count(const ConfigNode& node, std::size_t size, std::string_view what,
                 ReadContext& context) {
  const Bounds* count = context.count();
  if (count == nullptr || count->allow(static_cast<std::int64_t>(size))) return true;
  return context.error(
      node, fmt::format("expected {} of {}, found {}", what, describe_count(*count), size));
}

/// Dotted paths of all keys called `key` in a document.
void find_key(const TypeSchema& type, const std::string& path, std::string_view key,
              std::vector<std::string>& found) {
  for (const FieldSchema& field : type.fields) {
    const std::string here = path.empty() ? field.key : path + "." + field.key;
    if (field.key == key) found.push_back(here);
    find_key(field.type, here, key, found);
  }
  for (const TypeSchema& alternative : type.alternatives) find_key(alternative, path, key, found);
}

/// What a key that is unknown here was probably meant to be: a neighbour with nearly that spelling,
/// or one that begins so, or the same key in another section.
std::string likely_key(const std::string& key, const std::vector<std::string>& neighbours,
                       const ReadContext& context) {
  constexpr std::size_t telling = 4;
  if (std::string near = nearest_spelling(key, neighbours); !near.empty()) return near;
  if (key.size() >= telling) {
    const auto longer = std::ranges::find_if(
        neighbours, [&](const std::string& one) { return one.starts_with(key); });
    if (longer != neighbours.end()) return *longer;
  }
  std::vector<std::string> elsewhere;
  if (context.document() != nullptr) find_key(context.document()(), {}, key, elsewhere);
  return elsewhere.empty() ? std::string() : elsewhere.front();
}

}  // namespace

bool begin_list(const ConfigNode& node, ReadContext& context) {
  if (!node.is_sequence()) return context.expected(node, "a list, e.g. [a, b]");
  return check_count(node, node.items().size(), "a list", context);
}

bool begin_dictionary(const ConfigNode& node, ReadContext& context) {
  if (!node.is_map()) return context.expected(node, "a map, e.g. {key: value}");
  return check_count(node, node.entries().size(), "a map", context);
}

void append_printed(std::string& text, std::string_view key, const std::string& value) {
  if (value.empty()) return;
  if (text.size() > 1) text += ", ";
  if (!key.empty()) text += print_scalar(std::string(key)) + ": ";
  text += value;
}

TypeSchema list_schema(TypeSchema (*element)()) {
  TypeSchema schema;
  schema.kind = TypeKind::list;
  schema.element = element;
  return schema;
}

TypeSchema dictionary_schema(TypeSchema (*element)()) {
  TypeSchema schema;
  schema.kind = TypeKind::dictionary;
  schema.element = element;
  return schema;
}

TypeSchema choice_of(std::vector<TypeSchema> alternatives) {
  TypeSchema schema;
  schema.kind = TypeKind::choice;
  schema.alternatives = std::move(alternatives);
  return schema;
}

FieldEntry& FieldList::add(FieldEntry entry) {
  assert(find(entry.key) == nullptr);
  return entries_.emplace_back(std::move(entry));
}

const FieldEntry* FieldList::find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &FieldEntry::key);
  return found == entries_.end() ? nullptr : &*found;
}

bool FieldList::report_unknown(const ConfigEntry& entry, ReadContext& context) const {
  std::vector<std::string> keys;
  for (const FieldEntry& field : entries_) keys.emplace_back(field.key);
  std::string near = likely_key(entry.key, keys, context);
  std::string message = "unknown key " + quote(entry.key);
  if (near == entry.key) {
    message += ", which belongs to the top level";
    near.clear();
  }
  if (near.empty()) message += fmt::format("; the keys here are {}", fmt::join(keys, ", "));
  return context.error_at(entry.where, message, std::move(near));
}

bool FieldList::read(const ConfigNode& node, std::byte* object, ReadContext& context) const {
  if (!node.is_map()) {
    if (node.is_null()) return context.expected(node, "a map (write {} for an empty one)");
    const bool tight = node.is_scalar() && !node.quoted() && node.text().contains(':');
    return context.expected(
        node, tight ? "a map, with a blank after each ':'" : "a map, e.g. {key: value}");
  }
  bool good = true;
  for (const ConfigEntry& entry : node.entries()) {
    const FieldEntry* field = find(entry.key);
    if (field == nullptr) {
      good = report_unknown(entry, context);
      continue;
    }
    const ReadContext::Step step(context, entry.key);
    const ReadContext::Limits limits(context, field->bounds.empty() ? nullptr : &field->bounds,
                                     field->count.empty() ? nullptr : &field->count);
    good &= field->ops->read(entry.value, object + field->offset, context);
  }
  for (const FieldEntry& field : entries_) {
    if (!field.required || node.has(field.key)) continue;
    good = context.error_at(node.where_key(field.key),
                            fmt::format("missing required key '{}' ({})", field.key, field.doc));
  }
  return good;
}

std::string FieldList::print(const std::byte* object) const {
  std::string text = "{";
  for (const FieldEntry& field : entries_) {
    append_printed(text, field.key, field.ops->print(object + field.offset));
  }
  return text + "}";
}

TypeSchema FieldList::schema(const std::byte* defaults) const {
  TypeSchema type;
  type.kind = TypeKind::structure;
  type.name = "map";
  for (const FieldEntry& field : entries_) {
    FieldSchema& added = type.fields.emplace_back();
    added.key = field.key;
    added.doc = field.doc;
    added.since = field.since;
    added.example = field.example;
    added.required = field.required;
    added.bounds = field.bounds;
    added.count = field.count;
    added.type = field.ops->schema(defaults + field.offset);
    const bool nested = added.type.kind == TypeKind::structure;  // its own fields show theirs
    if (!field.required && !nested) added.default_text = field.ops->print(defaults + field.offset);
  }
  return type;
}

}  // namespace shardsim::simcore

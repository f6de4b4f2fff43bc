#include "simcore/config/reference_writer.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace shardsim::simcore {

namespace {

constexpr std::string_view table_head = "| Key | Type | Default | Meaning |\n|---|---|---|---|\n";

/// A bar would end the cell; a line break the row.
std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

std::string type_cell(const FieldSchema& field) {
  std::string text = type_name(field.type);
  if (!field.bounds.empty()) text += ", " + field.bounds.describe();
  if (!field.count.empty()) text += ", " + describe_count(field.count);
  const std::string& example = field.example.empty() ? field.type.example : field.example;
  if (!example.empty()) text += fmt::format(", e.g. `{}`", example);
  return text;
}

std::string default_cell(const FieldSchema& field) {
  if (field.required) return "**required**";
  return field.default_text.empty() ? "none" : fmt::format("`{}`", field.default_text);
}

bool has_keys(const TypeSchema& type) {
  switch (type.kind) {
    case TypeKind::structure:
      return true;
    case TypeKind::list:
    case TypeKind::dictionary:
      return has_keys(type.element());
    case TypeKind::choice:
      return std::ranges::any_of(type.alternatives, has_keys);
    default:
      return false;
  }
}

class ReferenceWriter {
 public:
  std::string page(const TypeSchema& type) {
    std::string plain;
    std::string sections;
    for (const FieldSchema& field : type.fields) {
      if (has_keys(field.type)) {
        sections += section(field);
      } else {
        plain += row(field, field.key);
      }
    }
    if (!plain.empty()) plain = "\n" + std::string(table_head) + plain;
    return plain + sections;
  }

 private:
  std::string section(const FieldSchema& field) {
    std::string text = fmt::format("\n## `{}`\n\n{}", field.key, field.doc);
    if (field.required) text += " Required.";
    const bool is_list = field.type.kind != TypeKind::structure;
    if (is_list) text += fmt::format(" A {}.", type_cell(field));
    return text + "\n\n" + std::string(table_head) + rows(field.type, field.key);
  }

  std::string row(const FieldSchema& field, const std::string& path) {
    std::string meaning = field.doc;
    if (!field.since.empty()) meaning += fmt::format(" Since version {}.", field.since);
    return fmt::format("| `{}` | {} | {} | {} |\n", path, cell(type_cell(field)),
                       cell(default_cell(field)), cell(meaning));
  }

  /// Rows of the keys within a value of this type.
  std::string rows(const TypeSchema& type, const std::string& path) {
    std::string text;
    switch (type.kind) {
      case TypeKind::structure:
        for (const FieldSchema& field : type.fields) {
          const std::string key = path + "." + field.key;
          text += row(field, key) + rows(field.type, key);
        }
        return text;
      case TypeKind::list:
        return element_rows(type, path + "[]");
      case TypeKind::dictionary:
        return element_rows(type, path + ".<name>");
      case TypeKind::choice:
        for (const TypeSchema& form : type.alternatives) text += rows(form, path);
        return text;
      default:
        return {};
    }
  }

  /// A type that contains itself is written once.
  std::string element_rows(const TypeSchema& type, const std::string& path) {
    if (std::ranges::find(open_, type.element) != open_.end()) return {};
    open_.push_back(type.element);
    std::string text = rows(type.element(), path);
    open_.pop_back();
    return text;
  }

  std::vector<TypeSchema (*)()> open_;
};

}  // namespace

std::string write_reference(const TypeSchema& type, const std::string& title,
                            const std::string& introduction) {
  std::string text = fmt::format("# {}\n", title);
  if (!introduction.empty()) text += fmt::format("\n{}\n", introduction);
  return text + ReferenceWriter().page(type);
}

}  // namespace shardsim::simcore

#include "simcore/config/flow_text.hpp"

#include <string_view>

#include "simcore/output/json_text.hpp"

namespace shardsim::simcore {

namespace {

/// A plain scalar that holds one of these would end, or become something else, inside brackets.
bool plain_in_brackets(std::string_view text) {
  return !text.empty() && text.find_first_of(",[]{}:#\"'\n\\") == std::string_view::npos;
}

void append_scalar(std::string& out, std::string_view text, bool quoted) {
  if (!quoted && plain_in_brackets(text)) {
    out += text;
  } else {
    append_json_string(out, text);  // YAML's double quotes read JSON's escapes
  }
}

void append(std::string& out, const ConfigNode& node) {
  const char* separator = "";
  switch (node.kind()) {
    case NodeKind::null:
    case NodeKind::invalid:
      out += "null";
      return;
    case NodeKind::scalar:
      append_scalar(out, node.text(), node.quoted());
      return;
    case NodeKind::sequence:
      out += '[';
      for (const ConfigNode& item : node.items()) {
        out += separator;
        append(out, item);
        separator = ", ";
      }
      out += ']';
      return;
    case NodeKind::map:
      out += '{';
      for (const ConfigEntry& entry : node.entries()) {
        out += separator;
        append_scalar(out, entry.key, false);
        out += ": ";
        append(out, entry.value);
        separator = ", ";
      }
      out += '}';
      return;
  }
}

}  // namespace

std::string to_flow_text(const ConfigNode& node) {
  std::string out;
  append(out, node);
  return out;
}

}  // namespace shardsim::simcore

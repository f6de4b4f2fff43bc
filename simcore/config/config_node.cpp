#include "simcore/config/config_node.hpp"

#include <algorithm>
#include <utility>

namespace shardsim::simcore {

ConfigNode ConfigNode::make_null(SourceLocation where) {
  ConfigNode node;
  node.where_ = std::move(where);
  return node;
}

ConfigNode ConfigNode::make_invalid(SourceLocation where) {
  ConfigNode node = make_null(std::move(where));
  node.kind_ = NodeKind::invalid;
  return node;
}

ConfigNode ConfigNode::make_scalar(SourceLocation where, std::string text, bool quoted) {
  ConfigNode node = make_null(std::move(where));
  node.kind_ = NodeKind::scalar;
  node.text_ = std::move(text);
  node.quoted_ = quoted;
  return node;
}

ConfigNode ConfigNode::make_sequence(SourceLocation where) {
  ConfigNode node = make_null(std::move(where));
  node.kind_ = NodeKind::sequence;
  return node;
}

ConfigNode ConfigNode::make_map(SourceLocation where) {
  ConfigNode node = make_null(std::move(where));
  node.kind_ = NodeKind::map;
  return node;
}

bool ConfigNode::is_plain(std::string_view text) const {
  return is_scalar() && !quoted_ && text_ == text;
}

bool ConfigNode::looks_like_integer() const {
  if (!is_scalar() || quoted_) return false;
  std::string_view digits = text_;
  if (digits.starts_with('-') || digits.starts_with('+')) digits.remove_prefix(1);
  return !digits.empty() &&
         std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; });
}

const ConfigNode* ConfigNode::find(std::string_view key) const {
  const auto found = std::ranges::find(entries_, key, &ConfigEntry::key);
  return found == entries_.end() ? nullptr : &found->value;
}

ConfigNode* ConfigNode::find(std::string_view key) {
  return const_cast<ConfigNode*>(std::as_const(*this).find(key));
}

const SourceLocation& ConfigNode::where_key(std::string_view key) const {
  for (const auto* entries : {&entries_, &removed_}) {
    const auto found = std::ranges::find(*entries, key, &ConfigEntry::key);
    if (found != entries->end()) return found->where;
  }
  return where_;
}

const SourceLocation& ConfigNode::where_value(std::string_view key) const {
  const ConfigNode* value = find(key);
  return value == nullptr ? where_key(key) : value->where();
}

bool ConfigNode::remove(std::string_view key, const SourceLocation& where) {
  const auto found = std::ranges::find(entries_, key, &ConfigEntry::key);
  if (found == entries_.end()) return false;
  entries_.erase(found);
  std::erase_if(removed_, [key](const ConfigEntry& one) { return one.key == key; });
  removed_.push_back({std::string(key), where, ConfigNode()});
  return true;
}

std::string ConfigNode::describe() const {
  switch (kind_) {
    case NodeKind::null:
      return "nothing";
    case NodeKind::scalar:
      return quoted_ ? "the text " + quote(text_) : quote(text_);
    case NodeKind::sequence:
      return "a list";
    case NodeKind::map:
      return "a map";
    case NodeKind::invalid:
      break;
  }
  return "something invalid";
}

}  // namespace shardsim::simcore

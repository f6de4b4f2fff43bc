#include "simcore/config/tree_builder.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "simcore/config/yaml_reader.hpp"
#include "simcore/utf8.hpp"

namespace shardsim::simcore {

bool TreeBuilder::begin_document(std::size_t offset) {
  if (!std::exchange(begun_, true)) return true;
  const bool marked = std::string_view(positions_.source()->text).substr(offset).starts_with("---");
  diagnostics_.error(positions_.at(offset),
                     marked ? "a second document begins here; a file holds one"
                            : "unexpected text after the end of the document");
  return false;
}

bool TreeBuilder::awaits_key() const {
  return !stack_.empty() && stack_.back().node.is_map() && !stack_.back().has_key;
}

bool TreeBuilder::count_value(std::size_t offset) {
  if (++values_ <= max_yaml_values) return true;
  diagnostics_.error(positions_.at(offset),
                     fmt::format("more than {} values in one file", max_yaml_values));
  return false;
}

bool TreeBuilder::null(std::size_t offset) {
  if (!count_value(offset)) return false;
  if (awaits_key()) {
    refuse_key(positions_.at(offset), "expected a key before ':'");
  } else {
    add(ConfigNode::make_null(null_location(offset)));
  }
  return true;
}

SourceLocation TreeBuilder::null_location(std::size_t offset) const {
  // The parser's mark of a value that is not there is the mark of whatever comes next.
  const std::string_view rest =
      std::string_view(positions_.source()->text).substr(std::min(offset, positions_.source()->text.size()));
  for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
    if (rest.starts_with(word)) return positions_.at(offset);
  }
  if (stack_.empty()) return positions_.at(offset);
  return stack_.back().node.is_map() ? stack_.back().key_where : stack_.back().node.where();
}

bool TreeBuilder::scalar(std::size_t offset, std::string text, bool quoted) {
  if (!count_value(offset)) return false;
  const bool good = !quoted || check_escapes(offset, text);
  if (awaits_key()) {
    take_key(offset, std::move(text), quoted);
  } else if (good) {
    add(ConfigNode::make_scalar(positions_.at(offset), std::move(text), quoted));
  } else {
    add(ConfigNode::make_invalid(positions_.at(offset)));
  }
  return true;
}

bool TreeBuilder::check_escapes(std::size_t offset, std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const Utf8Character character = next_utf8(text, at);
    if (!character.printable() && text[at] != '\n' && text[at] != '\t') {
      diagnostics_.error(positions_.at(offset),
                         fmt::format("an escape stands for the control character U+{:04X}",
                                     static_cast<std::uint32_t>(character.code_point)));
      return false;
    }
    at += character.length;
  }
  return true;
}

void TreeBuilder::take_key(std::size_t offset, std::string key, bool quoted) {
  const SourceLocation where = positions_.at(offset);
  Frame& frame = stack_.back();
  if (key == "<<" && !quoted) {
    refuse_key(where, "merge keys (<<) are not supported; write the keys out");
    return;
  }
  if (key.empty()) {
    refuse_key(where, "expected a key before ':'");
    return;
  }
  const auto [first, is_new] = frame.lines.try_emplace(key, where.line);
  if (!is_new) {
    refuse_key(where, fmt::format("repeated key {}; it stands in line {} already", quote(key),
                                  first->second));
    return;
  }
  frame.has_key = true;
  frame.drop_value = false;
  frame.key = std::move(key);
  frame.key_where = where;
}

void TreeBuilder::refuse_key(const SourceLocation& where, std::string why) {
  diagnostics_.error(where, std::move(why));
  Frame& frame = stack_.back();
  frame.has_key = true;
  frame.drop_value = true;
  frame.key_where = where;
}

bool TreeBuilder::begin_collection(std::size_t offset, NodeKind kind) {
  if (!count_value(offset)) return false;
  const SourceLocation where = positions_.at(offset);
  if (stack_.size() >= static_cast<std::size_t>(max_yaml_depth)) {
    diagnostics_.error(where, fmt::format("nested deeper than {} levels", max_yaml_depth));
    return false;
  }
  const bool is_key = awaits_key();
  Frame& frame = stack_.emplace_back();
  frame.node = kind == NodeKind::map ? ConfigNode::make_map(where) : ConfigNode::make_sequence(where);
  frame.is_key = is_key;
  return true;
}

void TreeBuilder::end_collection() {
  Frame done = std::move(stack_.back());
  stack_.pop_back();
  if (done.is_key) {
    refuse_key(done.node.where(), "a key must be text, not " + done.node.describe());
  } else {
    add(std::move(done.node));
  }
}

bool TreeBuilder::refused(std::size_t offset, std::string why) {
  if (!count_value(offset)) return false;
  if (awaits_key()) {
    refuse_key(positions_.at(offset), std::move(why));
  } else {
    diagnostics_.error(positions_.at(offset), std::move(why));
    add(ConfigNode::make_invalid(positions_.at(offset)));
  }
  return true;
}

void TreeBuilder::refuse_property(std::size_t offset, std::string why) {
  diagnostics_.error(positions_.at(offset), std::move(why));
}

void TreeBuilder::add(ConfigNode node) {
  if (stack_.empty()) {
    root_ = std::move(node);
    return;
  }
  Frame& frame = stack_.back();
  if (frame.node.is_sequence()) {
    frame.node.items().push_back(std::move(node));
    return;
  }
  if (!frame.drop_value) {
    frame.node.entries().push_back({std::move(frame.key), frame.key_where, std::move(node)});
  }
  frame.has_key = false;
  frame.drop_value = false;
}

}  // namespace shardsim::simcore

#include "simcore/config/tree_builder.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "simcore/config/yaml_reader.hpp"
#include "simcore/utf8.hpp"

namespace shardsim::simcore {

namespace {

/// Whether the quotes that open at `at` are closed.
bool quotes_close(std::string_view text, std::size_t at) {
  const char quotes = text[at];
  for (++at; at < text.size(); ++at) {
    if (quotes == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quotes) {
      if (quotes == '"' || at + 1 >= text.size() || text[at + 1] != quotes) return true;
      ++at;
    }
  }
  return false;
}

}  // namespace

std::optional<SourceLocation> TreeBuilder::open_collection() const {
  if (stack_.empty()) return std::nullopt;
  return stack_.back().node.where();
}

bool TreeBuilder::begin_document(std::size_t offset) {
  if (!std::exchange(begun_, true)) return true;
  const std::string_view text = positions_.source()->text;
  const bool marked = text.substr(std::min(offset, text.size())).starts_with("---");
  diagnostics_.error(positions_.at(offset), marked
                                                ? "a second document begins here; a file holds one"
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
  } else if (!stack_.empty() && stack_.back().node.is_map() && !stack_.back().in_brackets &&
             !stack_.back().drop_value && offset == stack_.back().key_offset) {
    // The parser marks a value that no ':' announced with the place of its key.
    diagnostics_.error(positions_.at(offset),
                       fmt::format("expected ':' after the key {}", quote(stack_.back().key)));
    add(ConfigNode::make_invalid(positions_.at(offset)));
  } else {
    add(ConfigNode::make_null(null_location(offset)));
  }
  return true;
}

SourceLocation TreeBuilder::null_location(std::size_t offset) const {
  // The parser's mark of a value that is not there is the mark of whatever comes next.
  const std::string_view text = positions_.source()->text;
  const std::string_view rest = text.substr(std::min(offset, text.size()));
  for (const std::string_view word : {"~", "null", "Null", "NULL"}) {
    if (rest.starts_with(word)) return positions_.at(offset);
  }
  if (stack_.empty()) return positions_.at(offset);
  return stack_.back().node.is_map() ? stack_.back().key_where : stack_.back().node.where();
}

bool TreeBuilder::scalar(std::size_t offset, std::string text, bool quoted) {
  if (!count_value(offset)) return false;
  if (quoted && !check_closed(offset)) return false;
  if (!check_indentation(offset, false)) return false;
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

bool TreeBuilder::check_indentation(std::size_t offset, bool block_sequence) {
  // yaml-cpp 0.7 takes what stands under a key, but no deeper, as its value.
  if (stack_.empty() || stack_.back().in_brackets || awaits_key()) return true;
  const ConfigNode& parent = stack_.back().node;
  const SourceLocation where = positions_.at(offset);
  const int least = parent.where().column + (block_sequence && parent.is_map() ? 0 : 1);
  if (where.line == parent.where().line || where.column >= least) return true;
  diagnostics_.error(where, parent.is_map() ? "indent the value deeper than its key"
                                            : "indent the value deeper than its '-'");
  return false;
}

bool TreeBuilder::check_closed(std::size_t offset) {
  // yaml-cpp 0.7 takes quotes as closed that are still open where the last line ends.
  const std::string_view text = positions_.source()->text;
  const bool in_quotes = offset < text.size() && (text[offset] == '"' || text[offset] == '\'');
  if (!in_quotes || quotes_close(text, offset)) return true;
  diagnostics_.error(positions_.at(offset), "these quotes are not closed");
  return false;
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
  frame.key_offset = offset;
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
  const std::string_view text = positions_.source()->text;
  const bool bracket = offset < text.size() && (text[offset] == '[' || text[offset] == '{');
  if (!check_indentation(offset, kind == NodeKind::sequence && !bracket)) return false;
  const bool in_brackets = bracket || (!stack_.empty() && stack_.back().in_brackets);
  const bool is_key = awaits_key();
  Frame& frame = stack_.emplace_back();
  frame.node =
      kind == NodeKind::map ? ConfigNode::make_map(where) : ConfigNode::make_sequence(where);
  frame.in_brackets = in_brackets;
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

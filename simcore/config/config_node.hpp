// The tree that a strict YAML document becomes: every value and every key knows where it stands.
//
// Scalars keep their text; what the text means is decided by the declaration that reads it (a
// version `2.27` is text, a count `2` an integer), never by guessing here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "simcore/diagnostics.hpp"

namespace shardsim::simcore {

enum class NodeKind : std::uint8_t {
  null,  ///< a key without a value, `null` or `~`
  scalar,
  sequence,
  map,
  invalid,  ///< something that the reader has already reported; readers pass over it in silence
};

struct ConfigEntry;

class ConfigNode {
 public:
  ConfigNode() = default;
  static ConfigNode make_null(SourceLocation where);
  static ConfigNode make_invalid(SourceLocation where);
  static ConfigNode make_scalar(SourceLocation where, std::string text, bool quoted);
  static ConfigNode make_sequence(SourceLocation where);
  static ConfigNode make_map(SourceLocation where);

  NodeKind kind() const { return kind_; }
  bool is_null() const { return kind_ == NodeKind::null; }
  bool is_scalar() const { return kind_ == NodeKind::scalar; }
  bool is_sequence() const { return kind_ == NodeKind::sequence; }
  bool is_map() const { return kind_ == NodeKind::map; }

  /// Where the value starts; for a missing value, its key.
  const SourceLocation& where() const { return where_; }

  /// Text of a scalar, without quotes and with escapes resolved; empty for other kinds.
  const std::string& text() const { return text_; }
  /// True for a scalar written in quotes or as a block (`|`, `>`): it cannot be a number.
  bool quoted() const { return quoted_; }
  /// A plain scalar spelt exactly so, e.g. is_plain("true").
  bool is_plain(std::string_view text) const;
  bool looks_like_bool() const { return is_plain("true") || is_plain("false"); }
  /// A plain scalar made of digits with an optional sign.
  bool looks_like_integer() const;

  const std::vector<ConfigNode>& items() const { return items_; }
  std::vector<ConfigNode>& items() { return items_; }
  const std::vector<ConfigEntry>& entries() const { return entries_; }
  std::vector<ConfigEntry>& entries() { return entries_; }

  /// Value of a key of a map, or null if there is none (or this is no map).
  const ConfigNode* find(std::string_view key) const;
  ConfigNode* find(std::string_view key);
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// Where the key stands; of a key that was taken out, what took it; else where this node starts.
  const SourceLocation& where_key(std::string_view key) const;
  /// As where_key(), of the key's value.
  const SourceLocation& where_value(std::string_view key) const;

  /// Takes a key out of a map, which `where` asks for: who misses it is shown that place. False if
  /// there is no such key.
  bool remove(std::string_view key, const SourceLocation& where);
  /// What is wrong with the value as a whole is said to be at `where` from now on.
  void place_at(const SourceLocation& where) { where_ = where; }

  /// "a map", "a list", "'text'", "nothing": for messages.
  std::string describe() const;

 private:
  NodeKind kind_ = NodeKind::null;
  bool quoted_ = false;
  std::string text_;
  SourceLocation where_;
  std::vector<ConfigNode> items_;
  std::vector<ConfigEntry> entries_;
  std::vector<ConfigEntry> removed_;  ///< no values, and where they were taken out
};

struct ConfigEntry {
  std::string key;
  SourceLocation where;  ///< of the key
  ConfigNode value;
};

}  // namespace shardsim::simcore

// Builds the tree from a parser's events, whatever the parser, and refuses what strict YAML lacks.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simcore/config/config_node.hpp"
#include "simcore/config/source_positions.hpp"

namespace shardsim::simcore {

/// Offsets are bytes of the source's text. Functions that return bool say whether to go on: false
/// after a limit was passed, which has been reported then.
class TreeBuilder {
 public:
  TreeBuilder(const SourcePositions& positions, Diagnostics& diagnostics)
      : positions_(positions), diagnostics_(diagnostics) {}

  bool begin_document(std::size_t offset);
  bool null(std::size_t offset);
  bool scalar(std::size_t offset, std::string text, bool quoted);
  bool begin_collection(std::size_t offset, NodeKind kind);
  void end_collection();
  /// A value that is refused; `why` is reported.
  bool refused(std::size_t offset, std::string why);
  /// Something refused about the value that comes next.
  void refuse_property(std::size_t offset, std::string why);

  /// Where the innermost list or map begins that is open; empty outside any.
  std::optional<SourceLocation> open_collection() const;

  std::optional<ConfigNode> take_root() { return std::move(root_); }

 private:
  struct Frame {
    ConfigNode node;
    bool in_brackets = false;
    bool is_key = false;      ///< a collection that stands where a key should
    bool has_key = false;     ///< a key waits for its value
    bool drop_value = false;  ///< that key was refused
    std::string key;
    SourceLocation key_where;
    std::size_t key_offset = 0;
    std::unordered_map<std::string, int> lines;  ///< of the keys so far
  };

  bool awaits_key() const;
  bool count_value(std::size_t offset);
  void take_key(std::size_t offset, std::string key, bool quoted);
  void refuse_key(const SourceLocation& where, std::string why);
  void add(ConfigNode node);
  bool check_indentation(std::size_t offset, bool block_sequence);
  bool check_closed(std::size_t offset);
  bool check_escapes(std::size_t offset, std::string_view text);
  SourceLocation null_location(std::size_t offset) const;

  const SourcePositions& positions_;
  Diagnostics& diagnostics_;
  std::vector<Frame> stack_;
  std::optional<ConfigNode> root_;
  std::size_t values_ = 0;
  bool begun_ = false;
};

}  // namespace shardsim::simcore

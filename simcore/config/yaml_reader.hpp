// Strict YAML: text in, a tree with locations out, every problem as a diagnostic.
//
// Refused, each with its place: repeated keys, merge keys (`<<`), keys that are not text, anchors
// and aliases, tags, tabs in indentation, several documents, empty files, text that is not UTF-8 or
// holds control characters, and whatever is larger than the limits below.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "simcore/config/config_node.hpp"

namespace shardsim::simcore {

inline constexpr std::size_t max_yaml_bytes = std::size_t{16} << 20;
inline constexpr int max_yaml_depth = 64;
/// Keys, values, lists and maps.
inline constexpr std::size_t max_yaml_values = 250'000;
/// Brackets, quotes, commas, colons and other characters that make a token, wherever they stand:
/// the parser keeps all tokens of an outermost bracket in memory.
inline constexpr std::size_t max_yaml_punctuation = 2'000'000;

/// Reads one document. Empty if there is no tree to go on with; where one can go on (a repeated
/// key, say), the tree comes back beside the errors so that one pass finds all problems. So ask
/// `diagnostics.has_errors()` before using what was read.
std::optional<ConfigNode> read_yaml(std::shared_ptr<const SourceText> source,
                                    Diagnostics& diagnostics);

/// The same for a file; messages name it as `path` spells it.
std::optional<ConfigNode> read_yaml_file(const std::filesystem::path& path,
                                         Diagnostics& diagnostics);

/// Reads `value`, which stands in `source` from byte `offset` to its end, as a value on a command
/// line: a scalar, or a list or map in brackets.
std::optional<ConfigNode> read_yaml_value(const std::shared_ptr<const SourceText>& source,
                                          std::size_t offset, Diagnostics& diagnostics);

}  // namespace shardsim::simcore

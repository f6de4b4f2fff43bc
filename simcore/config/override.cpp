#include "simcore/config/override.hpp"

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "simcore/config/source_positions.hpp"
#include "simcore/config/yaml_reader.hpp"

namespace shardsim::simcore {

namespace {

struct Segment {
  std::string key;
  bool bracketed = false;
  std::size_t offset = 0;  ///< where it stands in the source
  std::size_t end = 0;
};

/// Splits `perturb[0]."a.b".rank` into its segments.
class PathParser {
 public:
  PathParser(std::string_view text, std::size_t begin) : text_(text), at_(begin) {}

  /// Segments up to the '='; nothing if the path is malformed, `problem` says why and where.
  std::optional<std::vector<Segment>> parse() {
    std::vector<Segment> segments;
    for (;;) {
      auto segment = key();
      if (!segment) return std::nullopt;
      segments.push_back(std::move(*segment));
      while (at_ < text_.size() && text_[at_] == '[') {
        auto index = bracket();
        if (!index) return std::nullopt;
        segments.push_back(std::move(*index));
      }
      if (at_ == text_.size()) return fail("expected KEY=VALUE", at_);
      if (text_[at_] == '=') return segments;
      if (text_[at_] != '.') return fail("expected '.', '[' or '='", at_);
      ++at_;
    }
  }
  std::size_t end() const { return at_; }
  const std::string& problem() const { return problem_; }
  std::size_t problem_offset() const { return problem_offset_; }

 private:
  std::nullopt_t fail(std::string problem, std::size_t offset) {
    problem_ = std::move(problem);
    problem_offset_ = offset;
    return std::nullopt;
  }

  std::optional<Segment> key() {
    const std::size_t begin = at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      const std::size_t close = text_.find('"', at_ + 1);
      if (close == std::string_view::npos) return fail("expected a closing '\"'", begin);
      at_ = close + 1;
      return Segment{std::string(text_.substr(begin + 1, close - begin - 1)), false, begin, at_};
    }
    at_ = std::min(text_.find_first_of(".[=", begin), text_.size());
    if (at_ == begin) return fail("expected a key", begin);
    return Segment{std::string(text_.substr(begin, at_ - begin)), false, begin, at_};
  }

  std::optional<Segment> bracket() {
    const std::size_t begin = at_ + 1;
    const std::size_t close = text_.find_first_of("]=", begin);
    if (close == std::string_view::npos || text_[close] == '=') {
      return fail("expected an index and ']'", at_);
    }
    at_ = close + 1;
    return Segment{std::string(text_.substr(begin, close - begin)), true, begin, close};
  }

  std::string_view text_;
  std::size_t at_;
  std::string problem_;
  std::size_t problem_offset_ = 0;
};

class Override {
 public:
  Override(const SourcePositions& positions, Diagnostics& diagnostics)
      : positions_(positions), diagnostics_(diagnostics) {}

  /// The node that the path names, made if it is missing; null after an error.
  ConfigNode* descend(ConfigNode* node, const std::vector<Segment>& segments) {
    for (std::size_t i = 0; i < segments.size() && node != nullptr; ++i) {
      if (node->is_null()) become_collection(*node, segments[i]);
      node = node->is_sequence() ? element(*node, segments, i) : member(*node, segments, i);
    }
    return node;
  }

 private:
  ConfigNode* fail(const Segment& segment, std::string message) {
    diagnostics_.error(positions_.at(segment.offset), std::move(message));
    return nullptr;
  }

  /// A missing value on the way becomes what the next segment needs.
  void become_collection(ConfigNode& node, const Segment& next) {
    const SourceLocation where = positions_.at(next.offset);
    node = next.bracketed ? ConfigNode::make_sequence(where) : ConfigNode::make_map(where);
  }

  ConfigNode* member(ConfigNode& node, const std::vector<Segment>& segments, std::size_t i) {
    const Segment& segment = segments[i];
    if (!node.is_map() || segment.bracketed) {
      if (node.kind() == NodeKind::invalid) return fail(segment, "this value has an error already");
      return fail(segment, fmt::format("{} is {}, not {}", path(segments, i), node.describe(),
                                       segment.bracketed ? "a list" : "a map"));
    }
    const SourceLocation where = positions_.at(segment.offset);
    for (ConfigEntry& entry : node.entries()) {
      if (entry.key != segment.key) continue;
      entry.where = where;
      return &entry.value;
    }
    node.entries().push_back({segment.key, where, ConfigNode::make_null(where)});
    return &node.entries().back().value;
  }

  ConfigNode* element(ConfigNode& node, const std::vector<Segment>& segments, std::size_t i) {
    const Segment& segment = segments[i];
    std::size_t index = 0;
    const char* end = segment.key.data() + segment.key.size();
    const auto result = std::from_chars(segment.key.data(), end, index);
    if (result.ec != std::errc{} || result.ptr != end) {
      return fail(segment, fmt::format("{} is a list: expected an index, found {}",
                                       path(segments, i), quote(segment.key)));
    }
    if (index > node.items().size()) {
      return fail(segment, fmt::format("index {} is past the end of {}, a list of {}", index,
                                       path(segments, i), node.items().size()));
    }
    if (index == node.items().size()) {
      node.items().push_back(ConfigNode::make_null(positions_.at(segment.offset)));
    }
    return &node.items()[index];
  }

  /// The first `count` segments as text: "perturb[0].rank".
  std::string path(const std::vector<Segment>& segments, std::size_t count) const {
    if (count == 0) return "the document";
    const std::size_t begin = segments.front().offset;
    const Segment& last = segments[count - 1];
    const std::size_t end = last.end + (last.bracketed ? 1 : 0);
    return quote(std::string_view(positions_.source()->text).substr(begin, end - begin));
  }

  const SourcePositions& positions_;
  Diagnostics& diagnostics_;
};

}  // namespace

bool apply_override(ConfigNode& root, std::string_view key_equals_value, Diagnostics& diagnostics,
                    std::string_view option) {
  auto source = std::make_shared<SourceText>(
      SourceText{std::string(option), fmt::format("{} {}", option, key_equals_value)});
  const SourcePositions positions(source);
  PathParser parser(source->text, option.size() + 1);
  const auto segments = parser.parse();
  if (!segments) {
    diagnostics.error(positions.at(parser.problem_offset()), parser.problem());
    return false;
  }
  auto value = read_yaml_value(source, parser.end() + 1, diagnostics);
  if (!value) return false;
  ConfigNode* target = Override(positions, diagnostics).descend(&root, *segments);
  if (target == nullptr) return false;
  *target = std::move(*value);
  return true;
}

}  // namespace shardsim::simcore

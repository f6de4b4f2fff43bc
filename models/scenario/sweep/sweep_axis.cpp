#include "models/scenario/sweep/sweep_axis.hpp"

#include <memory>
#include <utility>

#include <fmt/format.h>

#include "models/scenario/sweep/value_range.hpp"
#include "simcore/config/flow_text.hpp"
#include "simcore/config/source_positions.hpp"

namespace shardsim::scenario {

namespace {

/// Splits at characters that stand outside brackets and quotes.
class OuterSplitter {
 public:
  explicit OuterSplitter(std::string_view text) : text_(text) {}

  /// Where `wanted` stands next, from `from`; the end if nowhere.
  std::size_t find(char wanted, std::size_t from) const {
    int depth = 0;
    char quote = '\0';
    for (std::size_t i = from; i < text_.size(); ++i) {
      const char c = text_[i];
      if (quote != '\0') {
        if (c == '\\' && quote == '"') ++i;
        if (c == quote) quote = '\0';
        continue;
      }
      if (depth == 0 && c == wanted) return i;
      if (c == '"' || c == '\'') quote = c;
      if (c == '[' || c == '{') ++depth;
      if (c == ']' || c == '}') --depth;
    }
    return text_.size();
  }

 private:
  std::string_view text_;
};

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

std::optional<AxisKey> parse_axis_key(std::string_view text, std::string_view option,
                                      simcore::Diagnostics& diagnostics) {
  const auto source = std::make_shared<simcore::SourceText>(
      simcore::SourceText{std::string(option), fmt::format("{} {}", option, text)});
  const simcore::SourcePositions positions(source);
  const std::size_t offset = option.size() + 1;
  const OuterSplitter splitter(text);
  const std::size_t equals = splitter.find('=', 0);
  if (equals == text.size() || equals == 0) {
    diagnostics.error(positions.at(offset), "expected KEY=VALUE,VALUE,...");
    return std::nullopt;
  }
  AxisKey axis{std::string(trimmed(text.substr(0, equals))), {}, positions.at(offset)};
  for (std::size_t at = equals + 1; at <= text.size();) {
    const std::size_t comma = splitter.find(',', at);
    const std::string_view value = trimmed(text.substr(at, comma - at));
    if (value.empty()) {
      diagnostics.error(positions.at(offset + at), "expected a value, found nothing");
      return std::nullopt;
    }
    auto range = expand_range(value);
    if (!range) {
      diagnostics.error(positions.at(offset + at), range.error());
      return std::nullopt;
    }
    if (*range) {
      axis.values.insert(axis.values.end(), (*range)->begin(), (*range)->end());
    } else {
      axis.values.emplace_back(value);
    }
    at = comma + 1;
  }
  return axis;
}

}  // namespace shardsim::scenario

namespace shardsim::simcore {

using scenario::AxisKey;
using scenario::SweepAxis;

namespace {

/// Whatever a key of a scenario may hold.
TypeSchema any_value_schema() { return choice_of({}); }

TypeSchema axis_values_schema() {
  TypeSchema schema = choice_of({schema_of<std::string>(), list_schema(any_value_schema)});
  schema.name = "their values";
  return schema;
}

/// A list of values, each perhaps a range, or one range alone.
bool read_values(const ConfigNode& node, AxisKey& axis, ReadContext& context) {
  const auto add = [&](const ConfigNode& value) {
    if (value.is_scalar() && !value.quoted()) {
      auto range = scenario::expand_range(value.text());
      if (!range) return context.error(value, range.error());
      if (*range) {
        axis.values.insert(axis.values.end(), (*range)->begin(), (*range)->end());
        return true;
      }
    }
    axis.values.push_back(to_flow_text(value));
    return true;
  };
  if (node.is_scalar()) return add(node);
  if (node.is_sequence() && node.items().empty()) {
    return context.error(node, "expected at least one value, e.g. [1, 2, 4]");
  }
  if (!node.is_sequence()) {
    return context.expected(node, "a list of values, e.g. [1, 2, 4], or a range, e.g. 1..64*2");
  }
  bool good = true;
  for (const ConfigNode& item : node.items()) good &= add(item);
  return good;
}

}  // namespace

std::optional<SweepAxis> Codec<SweepAxis>::read(const ConfigNode& node, ReadContext& context) {
  if (!node.is_map()) {
    context.expected(node, "a map from keys to values, e.g. {cluster.nodes: [1, 2, 4]}");
    return std::nullopt;
  }
  if (node.entries().empty()) {
    context.error(node, "expected a key and its values, e.g. {cluster.nodes: [1, 2, 4]}");
    return std::nullopt;
  }
  SweepAxis axis;
  bool good = true;
  for (const ConfigEntry& entry : node.entries()) {
    const ReadContext::Step step(context, entry.key);
    good &= read_values(entry.value, axis.keys.emplace_back(AxisKey{entry.key, {}, entry.where}),
                        context);
    if (!good || axis.keys.back().values.size() == axis.size()) continue;
    good = context.error(
        entry.value,
        fmt::format("expected as many values as '{}' has, {}, found {}: keys of one map "
                    "go together, axes of their own are crossed",
                    axis.keys.front().key, axis.size(), axis.keys.back().values.size()));
  }
  if (!good) return std::nullopt;
  return axis;
}

std::string Codec<SweepAxis>::print(const SweepAxis& value) {
  std::string text = "{";
  for (const AxisKey& key : value.keys) {
    append_printed(text, key.key, fmt::format("[{}]", fmt::join(key.values, ", ")));
  }
  return text + "}";
}

TypeSchema Codec<SweepAxis>::schema() { return dictionary_schema(axis_values_schema); }

}  // namespace shardsim::simcore

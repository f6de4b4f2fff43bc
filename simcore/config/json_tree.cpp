#include "simcore/config/json_tree.hpp"

#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "simcore/config/source_positions.hpp"
#include "simcore/config/yaml_reader.hpp"
#include "simcore/json_limits.hpp"

namespace shardsim::simcore {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view quoted_mark = "q";
constexpr std::string_view list_mark = "s";

Json encoded(const ConfigNode& node) {
  switch (node.kind()) {
    case NodeKind::scalar:
      if (!node.quoted()) return node.text();
      return Json::array({quoted_mark, node.text()});
    case NodeKind::sequence: {
      Json list = Json::array({list_mark});
      for (const ConfigNode& item : node.items()) list.push_back(encoded(item));
      return list;
    }
    case NodeKind::map: {
      Json map = Json::object();
      for (const ConfigEntry& entry : node.entries()) map[entry.key] = encoded(entry.value);
      return map;
    }
    case NodeKind::null:
    case NodeKind::invalid:
      break;
  }
  return nullptr;
}

class Decoder {
 public:
  explicit Decoder(SourceLocation where) : where_(std::move(where)) {}

  std::optional<ConfigNode> decode(const Json& json, int depth = 0) {
    if (depth > max_yaml_depth) return std::nullopt;
    if (json.is_null()) return ConfigNode::make_null(where_);
    if (json.is_string()) return ConfigNode::make_scalar(where_, json.get<std::string>(), false);
    if (json.is_object()) return map(json, depth);
    if (!json.is_array() || json.empty() || !json[0].is_string()) return std::nullopt;
    const auto mark = json[0].get<std::string>();
    if (mark == list_mark) return list(json, depth);
    if (mark != quoted_mark || json.size() != 2 || !json[1].is_string()) return std::nullopt;
    return ConfigNode::make_scalar(where_, json[1].get<std::string>(), true);
  }

 private:
  std::optional<ConfigNode> map(const Json& json, int depth) {
    ConfigNode node = ConfigNode::make_map(where_);
    for (const auto& [key, value] : json.items()) {
      auto child = decode(value, depth + 1);
      if (!child) return std::nullopt;
      node.entries().push_back({key, where_, std::move(*child)});
    }
    return node;
  }

  std::optional<ConfigNode> list(const Json& json, int depth) {
    ConfigNode node = ConfigNode::make_sequence(where_);
    for (std::size_t i = 1; i < json.size(); ++i) {
      auto child = decode(json[i], depth + 1);
      if (!child) return std::nullopt;
      node.items().push_back(std::move(*child));
    }
    return node;
  }

  SourceLocation where_;
};

}  // namespace

std::string to_json_tree(const ConfigNode& node) { return encoded(node).dump(); }

std::optional<ConfigNode> read_json_tree(const std::shared_ptr<const SourceText>& source,
                                         Diagnostics& diagnostics) {
  const SourceLocation whole{source, 0, 0};
  if (const auto large = json_too_large(source->text)) {
    diagnostics.error(SourcePositions(source).at(large->offset), large->message);
    return std::nullopt;
  }
  const Json json = Json::parse(source->text, nullptr, false);
  std::optional<ConfigNode> tree;
  if (!json.is_discarded()) tree = Decoder(whole).decode(json);
  if (!tree) diagnostics.error(whole, "expected a configuration tree as JSON");
  return tree;
}

}  // namespace shardsim::simcore

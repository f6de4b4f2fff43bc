// Takes the place of simcore/config/yaml_reader.cpp: files are trees as JSON, and a value of an
// override is a scalar or such a tree.
#include <utility>

#include "simcore/config/json_tree.hpp"
#include "simcore/config/yaml_reader.hpp"
#include "simcore/text_file.hpp"

namespace shardsim::simcore {

std::optional<ConfigNode> read_yaml(std::shared_ptr<const SourceText> source,
                                    Diagnostics& diagnostics) {
  return read_json_tree(source, diagnostics);
}

std::optional<ConfigNode> read_yaml_file(const std::filesystem::path& path,
                                         Diagnostics& diagnostics) {
  auto text = read_text_file(path, max_yaml_bytes);
  auto source = std::make_shared<SourceText>(SourceText{path.string(), text.value_or("")});
  if (!text) {
    diagnostics.error({source, 0, 0}, text.error());
    return std::nullopt;
  }
  return read_json_tree(source, diagnostics);
}

std::optional<ConfigNode> read_yaml_value(const std::shared_ptr<const SourceText>& source,
                                          std::size_t offset, Diagnostics& diagnostics) {
  std::string text = source->text.substr(offset);
  text.erase(0, text.find_first_not_of(' '));
  text.erase(text.find_last_not_of(' ') + 1);
  const SourceLocation where{source, 1, static_cast<int>(offset) + 1};
  if (text.starts_with('[') || text.starts_with('{')) {
    return read_json_tree(std::make_shared<SourceText>(SourceText{source->name, text}),
                          diagnostics);
  }
  if (text.empty() || text == "null" || text == "~") return ConfigNode::make_null(where);
  return ConfigNode::make_scalar(where, std::move(text), false);
}

}  // namespace shardsim::simcore

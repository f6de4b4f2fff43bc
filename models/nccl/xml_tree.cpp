#include "models/nccl/xml_tree.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "simcore/config/source_positions.hpp"

namespace shardsim::nccl {
namespace {

constexpr std::size_t max_bytes = std::size_t{16} << 20;
constexpr int max_depth = 64;
constexpr std::size_t max_elements = 200'000;
constexpr std::size_t max_attributes = 256;

class TreeBuilder {
 public:
  TreeBuilder(const simcore::SourcePositions& positions, simcore::Diagnostics& diagnostics)
      : positions_(positions), diagnostics_(diagnostics) {}

  std::optional<XmlElement> build(const pugi::xml_node& node) {
    XmlElement element;
    if (!fill(element, node, 1)) return std::nullopt;
    return element;
  }

 private:
  bool fill(XmlElement& element, const pugi::xml_node& node, int depth) {
    const auto offset = std::max<std::ptrdiff_t>(node.offset_debug(), 0);
    element.where = positions_.at(static_cast<std::size_t>(offset));
    element.name = node.name();
    if (depth > max_depth) return refuse(element, "elements nest more than 64 levels deep");
    if (++elements_ > max_elements) return refuse(element, "more than 200,000 elements");
    for (const pugi::xml_attribute& attribute : node.attributes()) {
      if (element.attributes.size() == max_attributes) {
        return refuse(element,
                      fmt::format("more than {} attributes of <{}>", max_attributes, element.name));
      }
      if (element.attribute(attribute.name()) != nullptr) {
        return refuse(element, fmt::format("attribute {} of <{}> is given twice",
                                           simcore::quote(attribute.name()), element.name));
      }
      element.attributes.push_back({attribute.name(), attribute.value()});
    }
    for (const pugi::xml_node& child : node.children()) {
      if (child.type() != pugi::node_element) continue;
      if (!fill(element.children.emplace_back(), child, depth + 1)) return false;
    }
    return true;
  }

  bool refuse(const XmlElement& element, std::string message) {
    diagnostics_.error(element.where, std::move(message));
    return false;
  }

  const simcore::SourcePositions& positions_;
  simcore::Diagnostics& diagnostics_;
  std::size_t elements_ = 0;
};

}  // namespace

std::optional<XmlElement> parse_xml(const std::shared_ptr<const simcore::SourceText>& source,
                                    simcore::Diagnostics& diagnostics) {
  const std::string& text = source->text;
  if (text.size() > max_bytes) {
    diagnostics.error({source, 0, 0}, "the XML is larger than 16 MiB");
    return std::nullopt;
  }
  const simcore::SourcePositions positions(source);
  if (const std::size_t zero = text.find('\0'); zero != std::string::npos) {
    diagnostics.error(positions.at(zero), "this is not XML: it holds a zero byte");
    return std::nullopt;
  }
  pugi::xml_document document;
  const pugi::xml_parse_result parsed =
      document.load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
  if (!parsed) {
    const auto offset = static_cast<std::size_t>(std::max<std::ptrdiff_t>(parsed.offset, 0));
    diagnostics.error(positions.at(offset), fmt::format("bad XML: {}", parsed.description()));
    return std::nullopt;
  }
  pugi::xml_node root;
  for (const pugi::xml_node& node : document.children()) {
    if (node.type() != pugi::node_element) continue;
    if (root) {
      const auto offset = std::max<std::ptrdiff_t>(node.offset_debug(), 0);
      diagnostics.error(positions.at(static_cast<std::size_t>(offset)),
                        fmt::format("a second outermost element <{}>", node.name()));
      return std::nullopt;
    }
    root = node;
  }
  if (!root) {
    diagnostics.error({source, 0, 0}, "there is no XML element");
    return std::nullopt;
  }
  return TreeBuilder(positions, diagnostics).build(root);
}

}  // namespace shardsim::nccl

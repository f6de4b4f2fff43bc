// What XML elements need without a parser.
#include "models/nccl/xml_tree.hpp"

namespace shardsim::nccl {

const std::string* XmlElement::attribute(std::string_view wanted) const {
  for (const XmlAttribute& candidate : attributes) {
    if (candidate.name == wanted) return &candidate.value;
  }
  return nullptr;
}

const XmlElement* XmlElement::child(std::string_view wanted) const {
  for (const XmlElement& candidate : children) {
    if (candidate.name == wanted) return &candidate;
  }
  return nullptr;
}

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += letter;
    }
  }
  return escaped;
}

}  // namespace shardsim::nccl

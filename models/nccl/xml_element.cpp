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

}  // namespace shardsim::nccl

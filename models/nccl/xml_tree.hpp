// XML text as a plain tree that remembers where everything stands: the door to pugixml.
//
// Leaves out text, comments and processing instructions, which NCCL's files do not use. Bounded
// against hostile input: 16 MiB of text, 64 levels, 200,000 elements, 256 attributes of each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "simcore/diagnostics.hpp"

namespace shardsim::nccl {

struct XmlAttribute {
  std::string name;
  std::string value;
};

struct XmlElement {
  std::string name;
  std::vector<XmlAttribute> attributes;
  std::vector<XmlElement> children;
  simcore::SourceLocation where;

  const std::string* attribute(std::string_view wanted) const;
  const XmlElement* child(std::string_view wanted) const;
};

/// The one outermost element of the text. Malformed XML, repeated attributes and text beyond the
/// bounds are errors with line and column.
std::optional<XmlElement> parse_xml(const std::shared_ptr<const simcore::SourceText>& source,
                                    simcore::Diagnostics& diagnostics);

}  // namespace shardsim::nccl

// Takes the place of models/nccl/xml_tree.cpp: a page has no files of NCCL's to read.
#include "models/nccl/xml_tree.hpp"

namespace shardsim::nccl {

std::optional<XmlElement> parse_xml(const std::shared_ptr<const simcore::SourceText>& source,
                                    simcore::Diagnostics& diagnostics) {
  diagnostics.error({source, 0, 0}, "XML is not read in a page");
  return std::nullopt;
}

}  // namespace shardsim::nccl

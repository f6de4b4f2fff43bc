// The reference page of a declaration in Markdown: every key with its type, default and meaning.
#pragma once

#include <string>

#include "simcore/config/type_schema.hpp"

namespace shardsim::simcore {

/// A page that begins with `# title` and `introduction`; then one table of the plain keys and a
/// section for each key that holds others. Keys are full paths: `cluster.nodes`, `perturb[].rank`,
/// `nccl.env.<name>`.
std::string write_reference(const TypeSchema& type, const std::string& title,
                            const std::string& introduction);

}  // namespace shardsim::simcore

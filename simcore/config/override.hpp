// Changes to a tree from the command line: `--set training.strategy=fsdp2`.
#pragma once

#include <string_view>

#include "simcore/config/config_node.hpp"

namespace shardsim::simcore {

/// Sets one value. The key is a dotted path; an element of a list is `perturb[0].rank` or
/// `perturb.0.rank`, a key that holds a dot stands in double quotes. The value is YAML: a scalar,
/// or a list or map in brackets. Maps on the way are made where missing; an index one past the end
/// appends. False, with the reason in `diagnostics`, if the path or the value is malformed; what
/// the value means is checked when the tree is read, and messages then show `option` and the text.
bool apply_override(ConfigNode& root, std::string_view key_equals_value, Diagnostics& diagnostics,
                    std::string_view option = "--set");

}  // namespace shardsim::simcore

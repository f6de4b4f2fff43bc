// A tree as YAML on one line, as it would stand after `--set KEY=`.
#pragma once

#include <string>

#include "simcore/config/config_node.hpp"

namespace shardsim::simcore {

/// Flow text that reads back as an equal tree (up to the choice of quotes).
std::string to_flow_text(const ConfigNode& node);

}  // namespace shardsim::simcore

// What people write who come from another tool: keys and names that a nearest spelling does not
// find, and a topology written where its name belongs.
#pragma once

#include "simcore/config/config_node.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

/// Reports such keys and values with what to write instead, takes the keys out and marks the values
/// as reported.
void translate_well_known_names(simcore::ConfigNode& scenario, simcore::Diagnostics& diagnostics);

}  // namespace shardsim::scenario

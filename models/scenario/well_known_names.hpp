// What people write who come from another tool: names that a nearest spelling does not find, and a
// topology written where its name belongs.
#pragma once

#include "simcore/config/config_node.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::scenario {

/// Reports such values with what to write instead, and marks them as reported.
void translate_well_known_names(simcore::ConfigNode& scenario, simcore::Diagnostics& diagnostics);

}  // namespace shardsim::scenario

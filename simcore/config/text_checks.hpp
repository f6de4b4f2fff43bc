// What is refused before any YAML parser sees it: binary files, other encodings, control
// characters, tabs in indentation.
#pragma once

#include "simcore/config/source_positions.hpp"
#include "simcore/diagnostics.hpp"

namespace shardsim::simcore {

/// Reports the first problem; true if there is none. The text holds no byte order mark any more.
bool check_text(const SourcePositions& positions, Diagnostics& diagnostics);

}  // namespace shardsim::simcore

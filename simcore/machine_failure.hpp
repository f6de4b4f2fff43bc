// Tells a machine that lacks something for the moment from input that is wrong.
#pragma once

#include <string_view>

namespace shardsim::simcore {

/// Whether a message of read_text_file (simcore/text_file.hpp), or one that has it inside, tells of
/// the machine - no descriptors, no memory, a disk's fault - and not of the file: the same input
/// may be read well a moment later, or elsewhere.
bool tells_of_machine(std::string_view message);

}  // namespace shardsim::simcore

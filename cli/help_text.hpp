// What `--help` and `shardsim help COMMAND` print.
#pragma once

#include <string>

#include "cli/command_page.hpp"

namespace shardsim::cli {

/// In 80 columns, but for examples, which stand on one line each to be copied.
std::string help_text(const CommandPage& page);

}  // namespace shardsim::cli

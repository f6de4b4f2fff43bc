// A command as a reader can paste it into a shell.
#pragma once

#include <string>
#include <vector>

namespace shardsim::cli {

/// The words with blanks between them, quoted where a POSIX shell needs it.
std::string shell_text(const std::vector<std::string>& words);

}  // namespace shardsim::cli

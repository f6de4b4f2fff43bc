// Words as a POSIX shell takes them.
#pragma once

#include <string>
#include <string_view>

namespace shardsim::cli {

/// `word` in quotes where a shell would make something else of it.
std::string shell_quoted(std::string_view word);

}  // namespace shardsim::cli

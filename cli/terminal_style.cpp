#include "cli/terminal_style.hpp"

#include <cstdlib>
#include <string_view>

namespace shardsim::cli {

bool terminal_is_unicode() {
  const char* names[] = {std::getenv("LC_ALL"), std::getenv("LC_CTYPE"), std::getenv("LANG")};
  for (const char* name : names) {
    if (name == nullptr || *name == '\0') continue;
    const std::string_view locale = name;
    return locale != "C" && locale != "POSIX";
  }
  return true;
}

}  // namespace shardsim::cli

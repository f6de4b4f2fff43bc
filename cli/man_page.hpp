// Commands as pages of the manual (section 1), in the man macros that groff and mandoc read.
#pragma once

#include <string>
#include <vector>

#include "cli/command_page.hpp"

namespace shardsim::cli {

struct ManPage {
  std::string file;  ///< "shardsim-run.1"
  std::string text;
};

/// One page for the program and one for each of its commands; commands of a command are part of its
/// page. Equal declarations give equal bytes: pages hold no date.
std::vector<ManPage> man_pages(const CommandPage& program);

/// The page of one command, "shardsim-quiz.1" for `quiz solve`, too.
ManPage man_page(const CommandPage& program, const std::string& command);

}  // namespace shardsim::cli

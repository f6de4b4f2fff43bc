// Completion scripts for shells, from the declarations of the command line.
//
// A script is complete in itself: it needs no other file and does not call the program, so that it
// costs nothing at a keystroke; names of files are those of the data it was made with.
#pragma once

#include <string>

#include "cli/command_page.hpp"
#include "cli/completion_words.hpp"

namespace shardsim::cli {

std::string bash_completion(const CommandPage& program, const CompletionWords& words);
std::string zsh_completion(const CommandPage& program, const CompletionWords& words);
std::string fish_completion(const CommandPage& program, const CompletionWords& words);

}  // namespace shardsim::cli

// The rules of the source tree that a compiler does not check, applied to one file at a time:
//   - a room includes only itself and rooms below it, by the path from the root;
//   - each third-party library has one door;
//   - models do not print, write files, or read a clock or the environment.
//
// What a rule looks at is the text without comments and, for names, without string literals. It
// leaves out what only a compiler could know: a function reached through an alias or a macro.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim::structure {

/// Rooms from the top down; a room may include itself and every room after it.
const std::vector<std::string>& rooms_from_the_top();

/// Room of `file` (path from the root, with '/'), or empty if it is in none.
std::string room_of(std::string_view file);

/// One line each: "file:line: what is wrong". `file` is the path from the root, with '/'.
std::vector<std::string> violations_in(std::string_view file, std::string_view text);

/// Applies the rules to every C++ and CUDA source of the rooms and of tests/ under `root`, in the
/// order of their paths. `files_read` counts them.
std::vector<std::string> violations_under(const std::filesystem::path& root, int& files_read);

}  // namespace shardsim::structure

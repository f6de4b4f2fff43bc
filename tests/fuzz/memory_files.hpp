// Files that exist only in memory, for readers that take a path.
//
// Takes the place of simcore/text_file.cpp: a path that set_memory_file() named gives that text,
// shipped files are read from the disk once, and there are no others, so that what an input does
// depends on nothing but the input.
#pragma once

#include <filesystem>
#include <string_view>

#include "models/scenario/experiment.hpp"

namespace shardsim::fuzz {

/// Replaces the text if there is such a file already.
void set_memory_file(const std::filesystem::path& path, std::string_view text);
void clear_memory_files();

/// For code that opens files by itself: the path of an unnamed file in memory that holds `text`,
/// good until the next call with the same `number` (0 to 3).
std::filesystem::path unnamed_file(std::size_t number, std::string_view text);

std::filesystem::path source_folder();
/// The shipped topologies and scenarios.
scenario::DataFolders shipped_data();

}  // namespace shardsim::fuzz

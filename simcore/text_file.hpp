// The files that input comes from: the one place that asks the disk for them.
//
// Every reader goes through these functions, so a build without a disk (the simulator inside a web
// page) only has to replace this file's implementation.
#pragma once

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim::simcore {

/// The bytes of `path`, but at most `limit` + 1 of them, so that the caller can tell a file that is
/// too large. The error is a message without the path, e.g. "cannot be opened: No such file".
std::expected<std::string, std::string> read_text_file(const std::filesystem::path& path,
                                                       std::size_t limit);

/// Whether `path` is a file that can be read as text: not a folder, not a device.
bool is_text_file(const std::filesystem::path& path);

/// Names, without folder and `extension` (".yaml"), of the files in `folder` that end in it;
/// sorted. Nothing if the folder cannot be read.
std::vector<std::string> file_stems(const std::filesystem::path& folder,
                                    std::string_view extension);

/// One spelling for each file, whatever way leads to it: to find cycles of files.
std::string file_identity(const std::filesystem::path& path);

}  // namespace shardsim::simcore

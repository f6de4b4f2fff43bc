// A file's bytes, with the reason in words where they cannot be had.
#pragma once

#include <cstddef>
#include <expected>
#include <filesystem>
#include <string>

namespace shardsim::simcore {

/// The bytes of `path`, but at most `limit` + 1 of them, so that the caller can tell a file that is
/// too large. The error is a message without the path, e.g. "cannot be opened: No such file".
std::expected<std::string, std::string> read_text_file(const std::filesystem::path& path,
                                                       std::size_t limit);

}  // namespace shardsim::simcore

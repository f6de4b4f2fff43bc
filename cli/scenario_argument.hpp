// The scenario that a command line names: a file, or one that comes with the program.
#pragma once

#include <expected>
#include <filesystem>
#include <string>

namespace shardsim::cli {

/// `text` itself if it ends in .yaml or is a file; else the shipped scenario of that name in
/// `scenarios`: "fsdp2-llama-2-7b-4xdgx-h100", "pairs/prefetch-on". The error is one line with the
/// nearest name.
std::expected<std::filesystem::path, std::string> find_scenario(
    const std::string& text, const std::filesystem::path& scenarios);

}  // namespace shardsim::cli

// Where a document goes: a file, written whole or not at all, or `-` for standard output.
#pragma once

#include <expected>
#include <functional>
#include <iosfwd>
#include <string>

namespace shardsim::cli {

/// Calls `write` with the stream of `target`. The error is a message for the user.
std::expected<void, std::string> write_document(const std::string& target,
                                                const std::function<void(std::ostream&)>& write);

}  // namespace shardsim::cli

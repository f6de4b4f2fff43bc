// How the page calls the module: text in, text out, through the module's memory.
//
// The page writes a request (JSON) where `shardsim_reserve` tells it to, calls a function, and
// reads the answer at `shardsim_answer` for the returned number of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace shardsim::web {

/// What the page wrote last.
const std::string& request();

/// Makes `text` the answer; its size.
std::uint32_t reply(std::string text);

/// Answers {"failed": {"kind", "message"}}.
std::uint32_t refuse(std::string_view kind, std::string_view message);

}  // namespace shardsim::web

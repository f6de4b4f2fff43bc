// JSON that comes from outside: whether it is small enough to be parsed, and where it is broken.
//
// A parsed document takes many times the memory of its text, and the keys of an object that keeps
// their order are compared with each other, so a text is measured before it is parsed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace shardsim::simcore {

struct JsonLimits {
  std::size_t values = 250'000;  ///< elements and members, about 50 bytes each once parsed
  std::size_t keys = 20'000;     ///< of all objects
  std::size_t depth = 64;
};

struct JsonProblem {
  std::size_t offset = 0;  ///< bytes into the text
  std::string message;     ///< "nested deeper than 64 levels"
};

/// Nothing if the text is within the limits, be it JSON or not.
std::optional<JsonProblem> json_too_large(std::string_view text, const JsonLimits& limits = {});

/// What about the text is no JSON; nothing if it is.
std::optional<JsonProblem> json_syntax_problem(std::string_view text);

}  // namespace shardsim::simcore

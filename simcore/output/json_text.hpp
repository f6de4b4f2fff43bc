// JSON scalars as text: escaped strings, and numbers that read back as the same value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simcore/time.hpp"

namespace shardsim::simcore {

/// Appends `text` in quotes. Whatever the bytes, the result is valid JSON in UTF-8: each byte that
/// belongs to no character becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Appends the shortest decimal that reads back as the same double, with a point or an exponent; a
/// value that is not finite, which JSON cannot say, becomes null.
void append_json_number(std::string& out, double value);
void append_json_number(std::string& out, std::int64_t value);
void append_json_number(std::string& out, std::uint64_t value);

/// Appends the time in microseconds, exactly, with three to six decimals: "12.345678", "1.500".
void append_microseconds(std::string& out, SimTime time);

}  // namespace shardsim::simcore

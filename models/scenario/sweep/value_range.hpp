// Values written as a range: `1..64*2` is 1, 2, 4, ... 64; `1..9+2` is 1, 3, 5, 7, 9.
//
//   FIRST..LAST      in steps of 1, up or down
//   FIRST..LAST+S    in steps of S          FIRST..LAST-S   down
//   FIRST..LAST*F    each F times the one before   FIRST..LAST/F   each an F-th of it
//
// LAST is part of the range if a step meets it. A unit after the range belongs to every value:
// `100..400*2 Gbit/s`.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace shardsim::scenario {

inline constexpr std::size_t most_range_values = 100'000;

/// Nothing if `text` is no range but a value; the error says what is wrong with a range, or with
/// what was meant as one: `1..`, `1-8`.
std::expected<std::optional<std::vector<std::string>>, std::string> expand_range(
    std::string_view text);

}  // namespace shardsim::scenario

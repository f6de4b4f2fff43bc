// Changes of an input that leave it readable enough to get past the first check: lines moved,
// copied and indented, numbers and units made small, huge or strange, words exchanged for others of
// the dictionary, and now and then a plain byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

/// The same for the same arguments, on every machine.
std::string mutate(std::string_view input, Grammar grammar, std::uint64_t seed);

}  // namespace shardsim::fuzz

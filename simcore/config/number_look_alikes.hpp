// Text that some YAML reader takes for a number and this one refuses: octal and hexadecimal forms,
// grouped digits, exponents where an integer belongs. Each message says what to write instead.
#pragma once

#include <string>
#include <string_view>

namespace shardsim::simcore {

/// The integer that the text probably means, "1000" for "1e3" or "1_000"; empty if there is none.
std::string integer_meant(std::string_view text);

/// What to write instead of a number with a leading zero, read as decimal and as octal.
std::string leading_zero_advice(std::string_view text);

/// `.inf`, `.nan` and their kin.
bool is_special_number(std::string_view text);

}  // namespace shardsim::simcore

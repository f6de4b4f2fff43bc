// Words that inputs are made of: the declared keys and values of every configuration file, and the
// vocabularies of the other formats.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

/// Sorted, each once; made at the first call.
const std::vector<std::string>& dictionary(Grammar grammar);

/// The same as a file for libFuzzer's -dict.
std::string dictionary_file(Grammar grammar);

}  // namespace shardsim::fuzz

// What fuzzing starts from: the shipped files, small files of the tests, and a line or two of each
// kind of input that is no file.
#pragma once

#include <string>
#include <vector>

#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

struct Seed {
  std::string name;
  std::string text;
};

/// In a fixed order; those longer than the target takes are left out.
std::vector<Seed> seeds_of(const Target& target);
/// Inputs that once brought something to light: tests/fuzz/findings/TARGET, sorted.
std::vector<Seed> findings_of(const Target& target);

}  // namespace shardsim::fuzz

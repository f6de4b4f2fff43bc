// libFuzzer's side of the targets: one program, whose name says which target it is
// (fuzz_scenario, fuzz_topology, ...; build/fuzz/bin holds a link for each).
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/targets.hpp"

// NOLINTBEGIN(readability-identifier-naming): names that libFuzzer looks for
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

const shardsim::fuzz::Target* target = nullptr;

std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::string name = *argc > 0 ? std::filesystem::path((*argv)[0]).filename().string() : "";
  constexpr std::string_view prefix = "fuzz_";
  if (name.starts_with(prefix)) {
    target = shardsim::fuzz::find_target(std::string_view(name).substr(prefix.size()));
  }
  if (target == nullptr) {
    std::fprintf(stderr, "there is no target '%s'; start this as fuzz_TARGET, TARGET one of\n",
                 name.c_str());
    for (const auto& one : shardsim::fuzz::targets()) {
      std::fprintf(stderr, "  %s\n", std::string(one.name).c_str());
    }
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  target->run(text_of(data, size));
  return 0;
}

/// Every second change is libFuzzer's own.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const std::string changed = shardsim::fuzz::mutate(text_of(data, size), target->grammar, seed);
  const std::size_t length = std::min(changed.size(), max_size);
  std::copy_n(changed.data(), length, reinterpret_cast<char*>(data));
  return length;
}
// NOLINTEND(readability-identifier-naming)

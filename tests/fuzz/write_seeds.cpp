// fuzz_seeds FOLDER: what libFuzzer starts from, FOLDER/TARGET/* and FOLDER/TARGET.dict.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/fuzz/dictionary.hpp"
#include "tests/fuzz/seeds.hpp"

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  const std::filesystem::path root = arguments[1];
  for (const shardsim::fuzz::Target& target : shardsim::fuzz::targets()) {
    const std::filesystem::path folder = root / target.name;
    std::filesystem::create_directories(folder);
    for (const auto& seed : shardsim::fuzz::seeds_of(target)) write(folder / seed.name, seed.text);
    for (const auto& seed : shardsim::fuzz::findings_of(target)) {
      write(folder / ("finding_" + seed.name), seed.text);
    }
    write(root / (std::string(target.name) + ".dict"),
          shardsim::fuzz::dictionary_file(target.grammar));
  }
  return 0;
}

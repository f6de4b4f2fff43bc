// fuzz_replay: the targets without libFuzzer, for every build and compiler.
//
//   fuzz_replay                        every seed, every finding, and some mutations of them
//   fuzz_replay --times N [TARGET...]  N times as many mutations, and which inputs are slow
//   fuzz_replay TARGET FILE...         the files alone: what a finding does
//
// The mutations are the same every time. If one ends the program, its text is left in
// fuzz_replay_input.txt in the current folder.
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/mutation.hpp"
#include "tests/fuzz/seeds.hpp"

namespace shardsim::fuzz {

namespace {

constexpr const char* kept_input = "fuzz_replay_input.txt";

void run(const Target& target, std::string_view text) {
  {
    std::ofstream out(kept_input, std::ios::binary);
    out << text;
  }
  clear_memory_files();
  target.run(text);
}

/// Also keeps inputs that take a second and more of processor time: slow_TARGET_NUMBER.
void run_timed(const Target& target, std::string_view text, int number) {
  const std::clock_t begun = std::clock();
  run(target, text);
  const double seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  if (seconds < 1) return;
  const std::string file = "slow_" + std::string(target.name) + "_" + std::to_string(number);
  std::printf("  %s took %.1f s\n", file.c_str(), seconds);
  std::ofstream(file, std::ios::binary) << text;
}

void replay(const Target& target, int times) {
  std::vector<Seed> inputs = seeds_of(target);
  std::vector<Seed> findings = findings_of(target);
  std::printf("%-16s %3zu seeds, %2zu findings, %4d mutations\n", std::string(target.name).c_str(),
              inputs.size(), findings.size(), target.replayed * times);
  std::fflush(stdout);
  require(!inputs.empty(), "a target without seeds");
  for (Seed& one : findings) inputs.push_back(std::move(one));
  for (const Seed& one : inputs) run(target, one.text);
  for (int i = 0; i < target.replayed * times; ++i) {
    const auto number = static_cast<std::uint64_t>(i);
    const std::string text = mutate(inputs[number % inputs.size()].text, target.grammar, number);
    times > 1 ? run_timed(target, text, i) : run(target, text);
  }
}

int replay_often(int times, char** names, int count) {
  if (count == 0) {
    for (const Target& target : targets()) replay(target, times);
    return 0;
  }
  for (int i = 0; i < count; ++i) {
    const Target* const target = find_target(names[i]);
    if (target == nullptr) {
      std::fprintf(stderr, "fuzz_replay: there is no target '%s'\n", names[i]);
      return 2;
    }
    replay(*target, times);
  }
  return 0;
}

int replay_files(std::string_view name, char** files, int count) {
  const Target* const target = find_target(name);
  if (target == nullptr) {
    std::fprintf(stderr, "fuzz_replay: there is no target '%s'\n", std::string(name).c_str());
    return 2;
  }
  for (int i = 0; i < count; ++i) {
    std::ifstream in(files[i], std::ios::binary);
    if (!in) {
      std::fprintf(stderr, "fuzz_replay: '%s' cannot be opened\n", files[i]);
      return 2;
    }
    run(*target, std::string(std::istreambuf_iterator<char>(in), {}));
  }
  return 0;
}

}  // namespace

}  // namespace shardsim::fuzz

int main(int count, char** arguments) {
  int status = 0;
  if (count > 2 && std::string_view(arguments[1]) == "--times") {
    const std::string_view text = arguments[2];
    int times = 0;
    std::from_chars(text.data(), text.data() + text.size(), times);
    status = times < 1 || times > 1'000'000
                 ? 2
                 : shardsim::fuzz::replay_often(times, arguments + 3, count - 3);
  } else if (count > 2) {
    status = shardsim::fuzz::replay_files(arguments[1], arguments + 2, count - 2);
  } else {
    status = shardsim::fuzz::replay_often(1, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove(shardsim::fuzz::kept_input, ignored);
  return status;
}

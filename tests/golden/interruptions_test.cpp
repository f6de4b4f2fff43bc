// A sweep that is killed at any moment goes on from where it was, and ends with the same bytes.
//
// A slow test: `slow.interruptions` runs it. SHARDSIM_INTERRUPTED_POINTS, _KILLS and _SEED change
// how many points the sweep has, how often it is killed and when.
#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/golden/program.hpp"

namespace shardsim {
namespace {

std::int64_t from_environment(const char* name, std::int64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

/// The program in a process of its own, without a word.
class BackgroundRun {
 public:
  explicit BackgroundRun(const std::vector<std::string>& arguments) : pid_(fork()) {
    if (pid_ != 0) return;
    const int nothing = open("/dev/null", O_RDWR);
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(nothing, stream);
    std::vector<char*> texts;
    for (const std::string& one : arguments) texts.push_back(const_cast<char*>(one.c_str()));
    texts.push_back(nullptr);
    execv(texts.front(), texts.data());
    _exit(127);
  }
  bool ended() { return !gone_ && waitpid(pid_, &status_, WNOHANG) == pid_ && (gone_ = true); }
  /// True if it was still there to be killed.
  bool kill_it() {
    if (gone_) return false;
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
    gone_ = true;
    return WIFSIGNALED(status_);
  }

 private:
  pid_t pid_;
  int status_ = 0;
  bool gone_ = false;
};

std::size_t size_of(const std::string& file) {
  std::error_code missing;
  const auto size = std::filesystem::file_size(file, missing);
  return missing ? 0 : static_cast<std::size_t>(size);
}

/// What a kill has left that counts: whole lines.
std::string whole_lines(const std::string& file) {
  std::string text = read_text(file);
  text.resize(text.rfind('\n') + 1);  // npos + 1 is 0
  return text;
}

TEST_CASE("a sweep killed at random moments and resumed ends as one that was left alone" *
          doctest::skip()) {
  const std::int64_t points = from_environment("SHARDSIM_INTERRUPTED_POINTS", 10'000);
  const std::int64_t kills = from_environment("SHARDSIM_INTERRUPTED_KILLS", 20);
  const std::int64_t seed = from_environment("SHARDSIM_INTERRUPTED_SEED", 1);
  MESSAGE("seed ", seed);
  std::mt19937_64 random(static_cast<std::uint64_t>(seed));
  const ScratchFolder scratch;
  const auto sweep = [&](const std::string& name) {
    return std::vector<std::string>{
        SHARDSIM_PROGRAM,
        "sweep",
        shipped_scenario("textbook-fsdp2"),
        "--over",
        "workload.explicit.block_forward=1..40+1 ms",
        "--over",
        "workload.explicit.all_gather_block=1.." + std::to_string((points + 39) / 40) + "+1 us",
        "-j",
        "2",
        "--json",
        scratch.file(name + ".jsonl"),
        "--csv",
        scratch.file(name + ".csv")};
  };
  const auto command = [](const std::vector<std::string>& arguments) {
    std::string text;
    for (std::size_t i = 1; i < arguments.size(); ++i) text += "'" + arguments[i] + "' ";
    return text;
  };
  REQUIRE(run_program(command(sweep("alone"))).status == 0);
  const std::size_t size = size_of(scratch.file("alone.jsonl"));
  const std::string alone = read_text(scratch.file("alone.jsonl"));
  CHECK(std::ranges::count(alone, '\n') == (points + 39) / 40 * 40);
  CHECK(alone.find("\"failed\"") == std::string::npos);
  std::vector<std::string> resumed = sweep("killed");
  resumed.emplace_back("--resume");
  const std::string file = scratch.file("killed.jsonl");

  // Some while it starts, some at random sizes of the file, which are random moments of its growth.
  std::vector<std::size_t> moments;
  for (std::int64_t i = 0; i < kills; ++i) {
    moments.push_back(i % 6 == 5 ? 0 : random() % (size * 95 / 100));
  }
  std::ranges::sort(moments);
  std::string kept;
  std::int64_t killed = 0;
  for (const std::size_t moment : moments) {
    BackgroundRun run(resumed);
    while (size_of(file) < moment && !run.ended()) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    killed += run.kill_it() ? 1 : 0;
    const std::string now = whole_lines(file);
    CHECK(now.starts_with(kept));  // nothing is lost, and nothing done again
    kept = now;
  }
  CHECK(killed == kills);
  CHECK(run_program(command(resumed)).status == 0);
  CHECK((read_text(file) == alone));
  CHECK((read_text(scratch.file("killed.csv")) == read_text(scratch.file("alone.csv"))));
}

TEST_CASE("a sweep whose disk was full goes on once there is room") {
  const ScratchFolder scratch;
  const std::string sweep = "sweep " + shipped_scenario("textbook-fsdp2") +
                            " --over 'workload.explicit.block_forward=1..20+1 ms' -j 2 ";
  const std::string alone = scratch.file("alone.jsonl");
  const std::string full = scratch.file("full.jsonl");
  REQUIRE(run_program(sweep + "--json " + alone).status == 0);
  const ProgramRun failed = run_program(sweep + "--json " + full, "ulimit -f 16");
  CHECK(failed.status == 2);
  CHECK(failed.messages.find("cannot write") != std::string::npos);
  CHECK(size_of(full) < size_of(alone));
  CHECK(run_program(sweep + "--resume --json " + full).status == 0);
  CHECK(read_text(full) == read_text(alone));
}

}  // namespace
}  // namespace shardsim

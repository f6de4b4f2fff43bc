// Runs the built program as a user does: arguments in; exit status, output and messages out.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace shardsim {

/// With what a program ends that a sanitizer stopped (CMakePresets.json): not with 1, which tests
/// of impossible runs expect.
inline constexpr int sanitizer_status = 99;

/// Whether an allocation beyond the limit of memory throws: sanitizers' allocators end the program.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool allocations_throw = false;
#else
inline constexpr bool allocations_throw = true;
#endif

/// Whether a program starts at all where it may write no file: ThreadSanitizer's runtime does not.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool starts_without_files = false;
#else
inline constexpr bool starts_without_files = true;
#endif

/// A folder of its own that is gone with the object.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "shardsim-XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// Writes a file and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return file(name);
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct ProgramRun {
  int status = -1;  ///< exit status; -1 if it did not exit by itself
  std::string output;
  std::string messages;
};

/// `arguments` as on a shell's command line; `variable` is one more shell variable, NAME=VALUE.
inline ProgramRun run_program(const std::string& arguments, const std::string& variable = {}) {
  const ScratchFolder scratch;
  const std::string command = (variable.empty() ? variable : variable + "; ") + SHARDSIM_PROGRAM +
                              " " + arguments + " >" + scratch.file("out") + " 2>" +
                              scratch.file("err");
  const int status = std::system(command.c_str());
  ProgramRun run;
  if (WIFEXITED(status)) run.status = WEXITSTATUS(status);
  run.output = read_text(scratch.file("out"));
  run.messages = read_text(scratch.file("err"));
  REQUIRE_MESSAGE(run.status != sanitizer_status, command, "\n", run.messages);
  return run;
}

inline std::string shipped_scenario(const std::string& name) {
  return std::string(SHARDSIM_SOURCE_DIR) + "/scenarios/" + name + ".yaml";
}

}  // namespace shardsim

#include "tests/structure/room_rules.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <optional>

#include "tests/structure/source_text.hpp"

namespace shardsim::structure {
namespace {

namespace fs = std::filesystem;

/// A library and the one folder that may include it.
struct Door {
  std::string_view header;  ///< A header, or a folder of headers if it ends in '/'.
  std::string_view folder;
};

constexpr std::array doors{
    Door{"yaml-cpp/", "simcore/config/"},
    Door{"boost/", "models/network/"},
    Door{"CLI/", "cli/"},
    Door{"pugixml.hpp", "models/nccl/"},
    Door{"cuda.h", "tests/reference/"},
    Door{"cuda_runtime.h", "tests/reference/"},
    Door{"cuda_runtime_api.h", "tests/reference/"},
    Door{"cuda_bf16.h", "tests/reference/"},
    Door{"cuda_fp16.h", "tests/reference/"},
    Door{"cuda/", "tests/reference/"},
    Door{"cooperative_groups.h", "tests/reference/"},
    Door{"nvml.h", "tests/reference/"},
    Door{"nccl.h", "tests/reference/"},
    Door{"doctest/", "tests/"},
    Door{"benchmark/", "tests/"},
};

/// Headers that only serve to print, to write files, or to read a clock or the machine's state.
constexpr auto headers_not_for_models = std::to_array<std::string_view>(
    {"iostream", "fstream", "print", "syncstream", "cstdio", "stdio.h", "chrono", "ctime", "time.h",
     "sys/time.h", "unistd.h"});

/// Names that do the same without such a header.
constexpr auto names_not_for_models =
    std::to_array<std::string_view>({"cout",         "cerr",          "clog",
                                     "printf",       "fprintf",       "puts",
                                     "fputs",        "fmt::print",    "fmt::println",
                                     "std::print",   "std::println",  "fopen",
                                     "ofstream",     "getenv",        "secure_getenv",
                                     "environ",      "clock_gettime", "gettimeofday",
                                     "steady_clock", "system_clock",  "high_resolution_clock",
                                     "random_device"});

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// True if `name` stands in `code` as a whole word.
bool names(std::string_view code, std::string_view name) {
  for (std::size_t at = code.find(name); at != std::string_view::npos;
       at = code.find(name, at + 1)) {
    const std::size_t end = at + name.size();
    const bool begins = at == 0 || !is_word(code[at - 1]);
    if (begins && (end == code.size() || !is_word(code[end]))) return true;
  }
  return false;
}

/// What an include directive names, and whether in quotes.
struct Include {
  std::string path;
  bool quoted = false;
};

std::optional<Include> include_in(const SourceLine& source_line) {
  const std::string_view line = source_line.without_comments;
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < line.size() && std::isspace(static_cast<unsigned char>(line[at])) != 0) ++at;
  };
  skip_blanks();
  if (at >= line.size() || source_line.code[at] != '#') return std::nullopt;  // not in a literal
  ++at;
  skip_blanks();
  if (!starts_with(line.substr(at), "include")) return std::nullopt;
  at += std::string_view("include").size();
  skip_blanks();
  if (at >= line.size() || (line[at] != '"' && line[at] != '<')) return std::nullopt;
  const bool quoted = line[at] == '"';
  const std::size_t end = line.find(quoted ? '"' : '>', at + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{std::string(line.substr(at + 1, end - at - 1)), quoted};
}

int height_from_top(std::string_view room) {
  const auto& rooms = rooms_from_the_top();
  return static_cast<int>(std::find(rooms.begin(), rooms.end(), room) - rooms.begin());
}

bool goes_through_its_door(const Door& door, std::string_view file, std::string_view path) {
  const bool is_folder = door.header.back() == '/';
  const bool is_meant = is_folder ? starts_with(path, door.header) : path == door.header;
  return !is_meant || starts_with(file, door.folder);
}

class FileCheck {
 public:
  explicit FileCheck(std::string_view file) : file_(file), room_(room_of(file)) {}

  std::vector<std::string> check(std::string_view text) {
    if (is_model() && room_.empty()) report("a model belongs into one of the rooms of models/");
    for (const SourceLine& line : source_lines(text)) {
      ++line_number_;
      if (const auto include = include_in(line)) check_include(*include);
      if (is_model()) check_names(line.code);
    }
    return std::move(violations_);
  }

 private:
  bool is_model() const { return starts_with(file_, "models/"); }

  void report(const std::string& message) {
    violations_.push_back(file_ + ":" + std::to_string(line_number_) + ": " + message);
  }

  void check_include(const Include& include) {
    for (const Door& door : doors) {
      if (goes_through_its_door(door, file_, include.path)) continue;
      report("<" + include.path + "> may be included only in " + std::string(door.folder));
    }
    if (room_.empty()) return;
    check_direction(include);
    const auto& headers = headers_not_for_models;
    if (is_model() && std::find(headers.begin(), headers.end(), include.path) != headers.end()) {
      report("a model does not include <" + include.path + ">");
    }
  }

  void check_direction(const Include& include) {
    const std::string target = room_of(include.path);
    if (target.empty()) {
      if (include.quoted) report("'" + include.path + "' is not a path from the root to a room");
      return;
    }
    if (height_from_top(target) < height_from_top(room_)) {
      report(room_ + " may not include " + include.path + ": " + target + " is above it");
    }
  }

  void check_names(std::string_view code) {
    for (const std::string_view name : names_not_for_models) {
      if (names(code, name)) report("a model does not use '" + std::string(name) + "'");
    }
  }

  std::string file_;
  std::string room_;
  int line_number_ = 0;
  std::vector<std::string> violations_;
};

bool is_source(const fs::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".hpp" || extension == ".cpp" || extension == ".h" || extension == ".cu" ||
         extension == ".cuh";
}

std::vector<fs::path> sources_under(const fs::path& root) {
  std::vector<fs::path> files;
  for (const char* folder : {"cli", "quiz", "report", "models", "simcore", "tests"}) {
    if (!fs::is_directory(root / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (entry.is_regular_file() && is_source(entry.path())) files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

const std::vector<std::string>& rooms_from_the_top() {
  static const std::vector<std::string> rooms{
      "cli",         "quiz",        "report",     "models/scenario", "models/training",
      "models/nccl", "models/cuda", "models/gpu", "models/network",  "simcore"};
  return rooms;
}

std::string room_of(std::string_view file) {
  for (const std::string& room : rooms_from_the_top()) {
    if (starts_with(file, room + "/")) return room;
  }
  return {};
}

std::vector<std::string> violations_in(std::string_view file, std::string_view text) {
  return FileCheck(file).check(text);
}

std::vector<std::string> violations_under(const fs::path& root, int& files_read) {
  std::vector<std::string> all;
  files_read = 0;
  for (const fs::path& path : sources_under(root)) {
    std::ifstream stream(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    const auto found = violations_in(path.lexically_relative(root).generic_string(), text);
    all.insert(all.end(), found.begin(), found.end());
    ++files_read;
  }
  return all;
}

}  // namespace shardsim::structure

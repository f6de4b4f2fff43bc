#include "tests/fuzz/memory_files.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "simcore/text_file.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

struct MemoryFiles {
  std::map<std::string, std::string> given;
  std::map<std::string, std::optional<std::string>> shipped;
};

MemoryFiles& files() {
  static MemoryFiles one;
  return one;
}

std::string plain(const std::filesystem::path& path) {
  return path.lexically_normal().generic_string();
}

bool is_shipped(const std::string& path) {
  for (const char* folder : {"/topologies/", "/scenarios/", "/validation/", "/quiz/bank/"}) {
    if (path.starts_with(plain(source_folder()) + folder)) return true;
  }
  return false;
}

/// Null if there is no such file.
const std::string* find(const std::filesystem::path& path) {
  const std::string name = plain(path);
  if (const auto found = files().given.find(name); found != files().given.end()) {
    return &found->second;
  }
  if (!is_shipped(name)) return nullptr;
  const auto [known, is_new] = files().shipped.try_emplace(name);
  std::error_code ignored;
  if (is_new && std::filesystem::is_regular_file(name, ignored)) {
    std::ifstream in(name, std::ios::binary);
    known->second = std::string(std::istreambuf_iterator<char>(in), {});
  }
  return known->second ? &*known->second : nullptr;
}

}  // namespace

void set_memory_file(const std::filesystem::path& path, std::string_view text) {
  files().given[plain(path)] = std::string(text);
}

void clear_memory_files() { files().given.clear(); }

std::filesystem::path unnamed_file(std::size_t number, std::string_view text) {
  static std::array<int, 4> descriptors{-1, -1, -1, -1};
  int& descriptor = descriptors.at(number);
  if (descriptor < 0) descriptor = memfd_create("fuzz", MFD_CLOEXEC);
  require(descriptor >= 0 && ftruncate(descriptor, 0) == 0, "no file in memory");
  require(pwrite(descriptor, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
          "a file in memory cannot be written");
  return "/proc/self/fd/" + std::to_string(descriptor);
}

std::filesystem::path source_folder() { return SHARDSIM_SOURCE_DIR; }

scenario::DataFolders shipped_data() {
  return {source_folder() / "topologies", source_folder() / "scenarios"};
}

}  // namespace shardsim::fuzz

namespace shardsim::simcore {

std::expected<std::string, std::string> read_text_file(const std::filesystem::path& path,
                                                       std::size_t limit) {
  const std::string* const text = fuzz::find(path);
  if (text == nullptr) return std::unexpected("cannot be opened: No such file or directory");
  return text->substr(0, limit + 1);
}

bool is_text_file(const std::filesystem::path& path) { return fuzz::find(path) != nullptr; }

std::vector<std::string> file_stems(const std::filesystem::path& folder,
                                    std::string_view extension) {
  std::vector<std::string> stems;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry->path().extension() == extension) stems.push_back(entry->path().stem().string());
  }
  std::ranges::sort(stems);
  return stems;
}

std::string file_identity(const std::filesystem::path& path) { return fuzz::plain(path); }

}  // namespace shardsim::simcore

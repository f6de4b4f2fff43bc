#include "simcore/text_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <system_error>

namespace shardsim::simcore {

std::expected<std::string, std::string> read_text_file(const std::filesystem::path& path,
                                                       std::size_t limit) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return std::unexpected("is a directory");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const int reason = errno == 0 ? EIO : errno;
    return std::unexpected("cannot be opened: " + std::generic_category().message(reason));
  }
  std::string bytes;
  std::array<char, 1 << 16> buffer{};
  while (file && bytes.size() <= limit) {
    file.read(buffer.data(), static_cast<std::streamsize>(buffer.size()));
    bytes.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) return std::unexpected("cannot be read");
  bytes.resize(std::min(bytes.size(), limit + 1));
  return bytes;
}

bool is_text_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

std::vector<std::string> file_stems(const std::filesystem::path& folder,
                                    std::string_view extension) {
  std::vector<std::string> stems;
  std::error_code failed;
  for (std::filesystem::directory_iterator entry(folder, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    std::error_code ignored;
    if (entry->path().extension() == extension && entry->is_regular_file(ignored)) {
      stems.push_back(entry->path().stem().string());
    }
  }
  // The disk lists them in any order.
  std::ranges::sort(stems);
  return stems;
}

std::string file_identity(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(path, failed);
  return failed ? path.string() : canonical.string();
}

}  // namespace shardsim::simcore

#include "cli/file_lock.hpp"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace shardsim::cli {

LockOutcome lock_file(int file, Sharing sharing) {
  struct stat status{};
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) return LockOutcome::unsupported;
  const int wanted = (sharing == Sharing::exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB;
  while (flock(file, wanted) != 0) {
    if (errno == EINTR) continue;
    return errno == EWOULDBLOCK ? LockOutcome::taken : LockOutcome::unsupported;
  }
  return LockOutcome::held;
}

std::string taken_message(const std::string& path) {
  return fmt::format(
      "another program is writing '{}': expected its end, or another file for this one", path);
}

std::expected<FileLock, std::string> FileLock::take(const std::string& path, Sharing sharing) {
  // To open a pipe would be to take part in it.
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing)) return FileLock(-1);
  // Exclusive locks of network file systems ask for a file that may be written.
  const int flags = sharing == Sharing::exclusive ? O_RDWR : O_RDONLY;
  FileLock lock(::open(path.c_str(), flags | O_NONBLOCK | O_CLOEXEC));
  if (lock.file_ >= 0 && lock_file(lock.file_, sharing) == LockOutcome::taken) {
    return std::unexpected(taken_message(path));
  }
  return lock;
}

FileLock::FileLock(FileLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FileLock::~FileLock() {
  if (file_ >= 0) close(file_);
}

}  // namespace shardsim::cli

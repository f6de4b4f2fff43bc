// Keeps two programs from writing one file: an advisory lock that ends with its holder, whatever
// ends that. Programs that do not ask for it are not kept from anything.
#pragma once

#include <expected>
#include <string>

namespace shardsim::cli {

enum class Sharing { exclusive, shared };
enum class LockOutcome {
  held,
  taken,       ///< by another program
  unsupported  ///< by the file's system, or the file is no regular one
};

/// Does not wait. The lock is the open file's, and gone when the last descriptor of it is closed.
LockOutcome lock_file(int file, Sharing sharing);

/// The message for a file that another program has locked.
std::string taken_message(const std::string& path);

/// A lock on a file by name, for as long as the object is there. Of a file that is not there, or
/// that cannot be opened or locked, it holds nothing.
class FileLock {
 public:
  /// The error is a message: another program has the file.
  static std::expected<FileLock, std::string> take(const std::string& path, Sharing sharing);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int file) : file_(file) {}
  int file_;
};

}  // namespace shardsim::cli

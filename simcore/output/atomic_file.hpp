// A file that is there whole or not at all: written under a temporary name beside its target, which
// it replaces at the end.
//
// A reader never sees a half-written result, and a failed run leaves the previous one. Nothing is
// synchronised to the disk: a power cut may lose the file. What is not a regular file (a device, a
// pipe) cannot be replaced and is written in place. A symbolic link is followed, also one that
// leads to no file yet; the file replaced keeps its permissions.
#pragma once

#include <expected>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>

namespace shardsim::simcore {

class AtomicFile {
 public:
  /// Opens the temporary file. The error is a message that names the target and the reason.
  static std::expected<AtomicFile, std::string> create(const std::filesystem::path& target);

  AtomicFile(AtomicFile&&) noexcept;
  AtomicFile& operator=(AtomicFile&&) noexcept;
  /// Without a successful commit() the temporary file is removed.
  ~AtomicFile();

  std::ostream& stream();

  /// Moves the file to its target. An error of any earlier write is reported here; the target is
  /// then as it was. Call once.
  std::expected<void, std::string> commit();

 private:
  struct State;
  explicit AtomicFile(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shardsim::simcore

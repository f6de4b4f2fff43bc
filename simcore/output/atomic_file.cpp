#include "simcore/output/atomic_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <streambuf>
#include <system_error>
#include <utility>

namespace shardsim::simcore {

namespace fs = std::filesystem;

namespace {

/// Unlike std::filebuf it keeps the reason of the first error.
class FileBuffer final : public std::streambuf {
 public:
  explicit FileBuffer(std::FILE* file) : file_(file) { reset(); }
  FileBuffer(const FileBuffer&) = delete;
  FileBuffer& operator=(const FileBuffer&) = delete;
  ~FileBuffer() override {
    if (file_ != nullptr) std::fclose(file_);
  }

  /// Writes what is left and closes the file; the first error since it was opened, or 0.
  int close() {
    write_out();
    if (std::fclose(std::exchange(file_, nullptr)) != 0) note_error();
    return error_;
  }

 protected:
  int_type overflow(int_type c) override {
    if (!write_out()) return traits_type::eof();
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      *pptr() = traits_type::to_char_type(c);
      pbump(1);
    }
    return traits_type::not_eof(c);
  }

  int sync() override {
    if (write_out() && std::fflush(file_) != 0) note_error();
    return error_ == 0 ? 0 : -1;
  }

 private:
  void reset() { setp(buffer_.data(), buffer_.data() + buffer_.size()); }

  void note_error() {
    if (error_ == 0) error_ = errno != 0 ? errno : EIO;
  }

  bool write_out() {
    const auto size = static_cast<std::size_t>(pptr() - pbase());
    errno = 0;
    if (error_ == 0 && std::fwrite(pbase(), 1, size, file_) != size) note_error();
    reset();
    return error_ == 0;
  }

  std::FILE* file_;
  int error_ = 0;
  std::array<char, 1 << 16> buffer_;
};

std::string reason(int error) { return std::generic_category().message(error); }

std::unexpected<std::string> failure(const fs::path& target, const std::string& why) {
  return std::unexpected("cannot write '" + target.string() + "': " + why);
}

/// Creates a file of a name that nobody has, beside `target`; null with errno set if it cannot.
std::FILE* open_beside(const fs::path& target, fs::path& opened) {
  constexpr int most_attempts = 1000;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    opened = target;
    opened += "." + std::to_string(attempt) + ".tmp";
    std::FILE* file = std::fopen(opened.c_str(), "wbx");
    if (file != nullptr || errno != EEXIST) return file;
  }
  errno = EEXIST;
  return nullptr;
}

/// Where a link that leads to no file yet leads to: the file is made there, and the link stays.
/// A chain without an end is left to whoever opens it.
fs::path follow_links(fs::path path) {
  constexpr int most_links = 40;  // as Linux has it
  for (int links = 0; links < most_links; ++links) {
    std::error_code failed;
    const fs::path next = fs::read_symlink(path, failed);
    if (failed) return path;
    path = path.parent_path() / next;  // an absolute one replaces what is before it
  }
  return path;
}

/// 0, or why an existing file may not be written. Renaming over it would not ask.
int why_read_only(const fs::path& existing) {
  std::FILE* file = std::fopen(existing.c_str(), "ab");
  if (file == nullptr) return errno;
  std::fclose(file);
  return 0;
}

}  // namespace

struct AtomicFile::State {
  State(fs::path wanted, std::FILE* file) : named(std::move(wanted)), buffer(file) {}
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() {
    if (temporary.empty()) return;
    std::error_code ignored;
    fs::remove(temporary, ignored);
  }

  fs::path named;                              ///< as the caller gave it
  fs::path target;                             ///< with symbolic links resolved
  fs::path temporary;                          ///< empty when written in place or after the rename
  fs::perms permissions = fs::perms::unknown;  ///< of the file to be replaced
  FileBuffer buffer;
  std::ostream stream{&buffer};
};

AtomicFile::AtomicFile(std::unique_ptr<State> state) : state_(std::move(state)) {}
AtomicFile::AtomicFile(AtomicFile&&) noexcept = default;
AtomicFile& AtomicFile::operator=(AtomicFile&&) noexcept = default;
AtomicFile::~AtomicFile() = default;

std::ostream& AtomicFile::stream() { return state_->stream; }

std::expected<AtomicFile, std::string> AtomicFile::create(const fs::path& target) {
  if (target.empty()) return failure(target, "the name is empty");
  std::error_code error;
  const fs::file_status status = fs::status(target, error);
  if (fs::is_directory(status)) return failure(target, reason(EISDIR));
  const bool exists = fs::exists(status);
  const bool in_place = exists && !fs::is_regular_file(status);

  fs::path resolved = exists ? target : follow_links(target);
  if (exists && !in_place) {
    resolved = fs::canonical(target, error);
    if (error) return failure(target, error.message());
    if (const int refusal = why_read_only(resolved); refusal != 0) {
      return failure(target, reason(refusal));
    }
  }
  fs::path temporary;
  std::FILE* file = in_place ? std::fopen(target.c_str(), "wb") : open_beside(resolved, temporary);
  if (file == nullptr) return failure(target, reason(errno));

  auto state = std::make_unique<State>(target, file);
  state->target = std::move(resolved);
  if (!in_place) state->temporary = std::move(temporary);
  if (exists) state->permissions = status.permissions();
  return AtomicFile(std::move(state));
}

std::expected<void, std::string> AtomicFile::commit() {
  State& state = *state_;
  const bool stream_failed = state.stream.fail();
  if (const int error = state.buffer.close(); error != 0) {
    return failure(state.named, reason(error));
  }
  if (stream_failed) return failure(state.named, "the output stream failed");
  if (state.temporary.empty()) return {};
  std::error_code error;
  if (state.permissions != fs::perms::unknown) {
    fs::permissions(state.temporary, state.permissions, error);
    if (error) return failure(state.named, error.message());
  }
  fs::rename(state.temporary, state.target, error);
  if (error) return failure(state.named, error.message());
  state.temporary.clear();
  return {};
}

}  // namespace shardsim::simcore

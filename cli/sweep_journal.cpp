#include "cli/sweep_journal.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/file_lock.hpp"
#include "cli/journal_scan.hpp"
#include "simcore/output/atomic_file.hpp"

namespace shardsim::cli {

namespace {

std::string reason(const std::string& what, const std::string& path) {
  return fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno));
}

/// A file without a name. The folder is $TMPDIR, if that is one, and /tmp.
std::expected<int, std::string> temporary_file() {
  std::error_code failed;
  std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
  if (failed) folder = "/tmp";
  std::string pattern = (folder / "shardsim-XXXXXX").string();
  const int file = mkstemp(pattern.data());
  if (file < 0) return std::unexpected(reason("make a file in", folder.string()));
  unlink(pattern.c_str());
  return file;
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t done = write(file, text.data(), text.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(done));
  }
  return true;
}

bool is_regular(int file) {
  struct stat status{};
  return fstat(file, &status) == 0 && S_ISREG(status.st_mode);
}

/// Whether the open file is the one that has the name.
bool is_named(int file, const std::string& path) {
  struct stat own{};
  struct stat named{};
  return fstat(file, &own) == 0 && stat(path.c_str(), &named) == 0 && own.st_dev == named.st_dev &&
         own.st_ino == named.st_ino;
}

/// Whether a file can be renamed to this one, as the end of a sweep does; errno says why not.
bool may_replace(const std::string& path) {
  std::error_code failed;
  const auto folder = std::filesystem::canonical(path, failed).parent_path();
  return failed || access(folder.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

/// Opens a file to append to, and locks it. A program that holds it may have put another file in
/// its place meanwhile, as the end of a sweep does: that is the one to lock.
std::expected<SweepJournal, std::string> SweepJournal::open(const std::string& path) {
  SweepJournal journal(path);
  if (path.empty()) {
    const auto file = temporary_file();
    if (!file) return std::unexpected(file.error());
    journal.file_ = *file;
    return journal;
  }
  constexpr mode_t readable_by_all = 0644;
  constexpr int most_attempts = 100;
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    const int file = ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, readable_by_all);
    if (file < 0) return std::unexpected(reason("write", path));
    if (journal.file_ >= 0) close(journal.file_);
    journal.file_ = file;
    const LockOutcome lock = lock_file(file, Sharing::exclusive);
    if (lock == LockOutcome::taken) return std::unexpected(taken_message(path));
    if (lock == LockOutcome::unsupported && is_regular(file)) {
      journal.warnings_.push_back(
          fmt::format("'{}' cannot be locked: {}; no other program may write it meanwhile", path,
                      std::strerror(errno)));
    }
    if (lock == LockOutcome::unsupported || is_named(file, path)) {
      if (is_regular(file) && !may_replace(path)) {
        return std::unexpected(reason("put points into order in the folder of", path));
      }
      return journal;
    }
  }
  return std::unexpected(taken_message(path));
}

std::expected<void, std::string> SweepJournal::empty(Existing existing) {
  if (path_.empty() || !is_regular(file_)) return {};
  struct stat status{};
  if (fstat(file_, &status) != 0) return std::unexpected(reason("read", path_));
  if (status.st_size == 0) return {};
  if (existing == Existing::only_if_empty) {
    return std::unexpected(fmt::format(
        "'{}' is there already, and points would be kept under that name until the table is "
        "complete: --resume goes on with it if it is this sweep's; else expected another --csv, or "
        "that file moved",
        path_));
  }
  if (ftruncate(file_, 0) != 0) return std::unexpected(reason("write", path_));
  return {};
}

std::expected<SweepJournal, std::string> SweepJournal::create(const std::string& path,
                                                              Existing existing) {
  auto journal = open(path);
  if (!journal) return journal;
  if (const auto emptied = journal->empty(existing); !emptied) {
    return std::unexpected(emptied.error());
  }
  return journal;
}

std::expected<SweepJournal, std::string> SweepJournal::resume(const std::string& path,
                                                              const SweepIdentity& identity) {
  auto journal = open(path);
  if (!journal) return journal;
  auto scan = scan_journal(journal->file_, path, identity);
  if (!scan) return std::unexpected(scan.error());
  const bool spoilt = scan->spoilt;
  journal->keep(*scan);
  if (!spoilt) {
    if (scan->torn && ftruncate(journal->file_, journal->end_) != 0) {
      return std::unexpected(reason("cut", path));
    }
    return journal;
  }
  // Only whole lines are kept, so that a line's offset is its place in the file. The file that they
  // were in stays locked until its successor is.
  if (const auto rewritten = journal->rewrite(); !rewritten) {
    return std::unexpected(rewritten.error());
  }
  auto successor = resume(path, identity);
  if (successor) successor->warnings_ = std::move(journal->warnings_);
  return successor;
}

void SweepJournal::keep(JournalScan& scan) {
  for (const Line& line : scan.lines) note(line);
  end_ = scan.end;
  warnings_.insert(warnings_.end(), scan.warnings.begin(), scan.warnings.end());
}

SweepJournal::SweepJournal(SweepJournal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      problem_(std::move(other.problem_)),
      warnings_(std::move(other.warnings_)),
      end_(other.end_),
      lines_(std::move(other.lines_)),
      present_(std::move(other.present_)) {}

SweepJournal::~SweepJournal() {
  if (file_ >= 0) close(file_);
}

bool SweepJournal::has(std::int64_t index) const {
  return static_cast<std::size_t>(index) < present_.size() &&
         present_[static_cast<std::size_t>(index)];
}

void SweepJournal::note(const Line& line) {
  lines_.push_back(line);
  const auto at = static_cast<std::size_t>(line.index);
  if (at >= present_.size()) present_.resize(std::max(at + 1, present_.size() * 2));
  present_[at] = true;
}

bool SweepJournal::append(std::int64_t index, const std::string& line) {
  const std::lock_guard lock(writing_);
  if (!problem_.empty()) return false;
  if (!write_all(file_, line)) {
    problem_ = reason("write", path_);
    return false;
  }
  const auto length = static_cast<std::int64_t>(line.size());
  note({index, end_, length});
  end_ += length;
  return true;
}

std::expected<void, std::string> SweepJournal::for_each(
    const std::function<void(std::string_view)>& visit) const {
  std::vector<Line> ordered = lines_;
  std::ranges::sort(ordered, {}, &Line::index);
  std::string text;
  for (const Line& line : ordered) {
    text.resize(static_cast<std::size_t>(line.length));
    if (!read_exactly(file_, text.data(), text.size(), line.offset)) {
      return std::unexpected(reason("read", path_));
    }
    visit(text);
  }
  return {};
}

std::expected<void, std::string> SweepJournal::finish() {
  if (path_.empty()) return {};
  std::error_code failed;
  const bool removed = !std::filesystem::exists(path_, failed) && !failed;
  if (!removed && !is_named(file_, path_)) return rescue();
  if (!removed && std::ranges::is_sorted(lines_, {}, &Line::index)) return {};
  return rewrite();
}

/// Whoever put another file in the journal's place wants that one.
std::expected<void, std::string> SweepJournal::rescue() const {
  const std::string aside = path_ + ".rescued";
  std::error_code failed;
  if (std::filesystem::exists(aside, failed) || failed) {
    return std::unexpected(fmt::format(
        "another file was put in the place of '{}' meanwhile, and '{}' is there, too: the points "
        "are lost",
        path_, aside));
  }
  if (const auto saved = save_as(aside); !saved) return saved;
  return std::unexpected(fmt::format(
      "another file was put in the place of '{}' meanwhile: the points are in '{}'", path_, aside));
}

std::expected<void, std::string> SweepJournal::rewrite() const { return save_as(path_); }

std::expected<void, std::string> SweepJournal::save_as(const std::string& path) const {
  auto sorted = simcore::AtomicFile::create(path);
  if (!sorted) return std::unexpected(sorted.error());
  const auto copied = for_each([&](std::string_view line) { sorted->stream() << line; });
  if (!copied) return copied;
  return sorted->commit();
}

}  // namespace shardsim::cli

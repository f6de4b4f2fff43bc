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

#include "models/scenario/sweep/sweep_row.hpp"
#include "simcore/output/atomic_file.hpp"

namespace shardsim::cli {

namespace {

std::string reason(const std::string& what, const std::string& path) {
  return fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno));
}

/// A file without a name.
int temporary_file() {
  std::string pattern = (std::filesystem::temp_directory_path() / "shardsim-XXXXXX").string();
  const int file = mkstemp(pattern.data());
  if (file >= 0) unlink(pattern.c_str());
  return file;
}

bool read_exactly(int file, char* target, std::size_t length, std::int64_t offset) {
  while (length > 0) {
    const ssize_t done = pread(file, target, length, offset);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return false;
    target += done;
    offset += done;
    length -= static_cast<std::size_t>(done);
  }
  return true;
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

}  // namespace

std::expected<SweepJournal, std::string> SweepJournal::open(const std::string& path, int flags) {
  SweepJournal journal(path);
  constexpr mode_t readable_by_all = 0644;
  journal.file_ = path.empty()
                      ? temporary_file()
                      : ::open(path.c_str(), O_RDWR | O_APPEND | O_CREAT | flags, readable_by_all);
  if (journal.file_ < 0) return std::unexpected(reason("write", path));
  return journal;
}

std::expected<SweepJournal, std::string> SweepJournal::create(const std::string& path) {
  return open(path, O_TRUNC);
}

std::expected<SweepJournal, std::string> SweepJournal::resume(const std::string& path,
                                                              const std::string& hash,
                                                              std::int64_t points) {
  auto journal = open(path, 0);
  if (!journal) return journal;
  if (const auto scanned = journal->scan(hash, points); !scanned) {
    return std::unexpected(scanned.error());
  }
  if (!journal->spoilt_) return journal;
  // Only whole lines are kept, so that a line's offset is its place in the file.
  if (const auto rewritten = journal->rewrite(); !rewritten) {
    return std::unexpected(rewritten.error());
  }
  return resume(path, hash, points);
}

SweepJournal::SweepJournal(SweepJournal&& other) noexcept
    : path_(std::move(other.path_)),
      file_(std::exchange(other.file_, -1)),
      problem_(std::move(other.problem_)),
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

/// Lines that were cut off by a kill or spoilt by a crash are left out, and computed again.
std::expected<void, std::string> SweepJournal::scan(const std::string& hash, std::int64_t points) {
  struct stat status{};
  if (fstat(file_, &status) != 0) return std::unexpected(reason("read", path_));
  if (!S_ISREG(status.st_mode)) {
    return std::unexpected(fmt::format("'{}' is no file that could be resumed", path_));
  }
  std::string line;
  std::string block(std::size_t{1} << 16, '\0');
  std::int64_t line_begin = 0;
  bool spoilt = false;
  bool known = false;  // some line is a point of the sweep
  for (std::int64_t at = 0; at < status.st_size;) {
    const auto length = static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(block.size()), status.st_size - at));
    if (!read_exactly(file_, block.data(), length, at)) {
      return std::unexpected(reason("read", path_));
    }
    for (std::size_t i = 0; i < length;) {
      const auto* end = static_cast<const char*>(std::memchr(block.data() + i, '\n', length - i));
      const std::size_t to =
          end == nullptr ? length : static_cast<std::size_t>(end - block.data()) + 1;
      line.append(block, i, to - i);
      i = to;
      if (line.size() > scenario::max_row_bytes) {
        return std::unexpected(
            fmt::format("'{}' is no file of points: it has a line of more than "
                        "{} MiB",
                        path_, scenario::max_row_bytes >> 20));
      }
      if (end == nullptr) break;
      const auto bytes = static_cast<std::int64_t>(line.size());
      const auto row = scenario::read_row(line);
      if (row && (row->hash != hash || row->of != points)) {
        return std::unexpected(fmt::format(
            "'{}' holds points of another sweep (hash {}, this one is {}): the scenario, the axes, "
            "the data files or the version differ",
            path_, row->hash, hash));
      }
      // What an earlier budget did not allow is run again, with the present one.
      const bool again = row && row->failed == "over_budget";
      if (row && !again && !has(row->index)) {
        note({row->index, line_begin, bytes});
      } else {
        spoilt = true;
      }
      known |= row.has_value();
      line_begin += bytes;
      line.clear();
    }
    at += static_cast<std::int64_t>(length);
  }
  end_ = line_begin;
  if (!line.empty() && ftruncate(file_, end_) != 0) return std::unexpected(reason("cut", path_));
  if (spoilt && !known) {
    return std::unexpected(fmt::format("'{}' holds no points of a sweep", path_));
  }
  spoilt_ = spoilt;
  return {};
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

std::expected<void, std::string> SweepJournal::sort() {
  if (path_.empty() || std::ranges::is_sorted(lines_, {}, &Line::index)) return {};
  return rewrite();
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

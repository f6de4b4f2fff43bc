// The file that a sweep's points go to, one line each: appended whole as soon as the point is
// finished, so that a sweep that is killed loses only what it was at, and put into order at the
// end.
//
// No byte of a file that was there is cut or replaced before all of it is read and known to be this
// sweep's. As long as the journal is open its file is locked (cli/file_lock.hpp), so that of two
// programs one writes it.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardsim::cli {

/// By which a sweep knows its own lines.
struct SweepIdentity {
  std::string hash;
  std::int64_t points = 0;
  std::string version{};  ///< of the program; empty: any
  /// How a point's line begins (scenario::point_head); none: with its index and the number of
  /// points.
  std::function<std::string(std::int64_t index)> head{};
};

struct JournalLine {
  std::int64_t index = 0;
  std::int64_t offset = 0;
  std::int64_t length = 0;
};
struct JournalScan;

class SweepJournal {
 public:
  /// What becomes of a file that is there already.
  enum class Existing {
    replace,       ///< it is what the user named
    only_if_empty  ///< the name is made from another: what it holds may be anybody's
  };
  /// An empty one. `path` empty: a temporary file that is gone at the end.
  static std::expected<SweepJournal, std::string> create(const std::string& path,
                                                         Existing existing = Existing::replace);
  /// What is there already, if the file is there: complete lines of this sweep. An incomplete last
  /// line is cut off; a line that is not as the sweep would have written it is left out, to be
  /// computed again, with a warning. The error says why the file is not this sweep's: it is as it
  /// was then.
  static std::expected<SweepJournal, std::string> resume(const std::string& path,
                                                         const SweepIdentity& identity);

  SweepJournal(SweepJournal&&) noexcept;
  SweepJournal& operator=(SweepJournal&&) = delete;
  ~SweepJournal();

  bool has(std::int64_t index) const;
  std::size_t size() const { return lines_.size(); }
  /// Any thread may call it. False once the file cannot be written; see problem().
  bool append(std::int64_t index, const std::string& line);
  const std::string& problem() const { return problem_; }
  /// What the user should know of the file that was there: "FILE:LINE: ...".
  const std::vector<std::string>& warnings() const { return warnings_; }

  /// The file's name; empty: it has none.
  const std::string& path() const { return path_; }
  /// Puts the lines in the order of their points, if they are not, and the file back if it has been
  /// removed: it is then replaced as a whole. The error says if another file has its name now: the
  /// lines are then in `<path>.rescued`, unless that is there, too.
  std::expected<void, std::string> finish();
  /// Every line with its newline, in the order of the points.
  std::expected<void, std::string> for_each(
      const std::function<void(std::string_view)>& visit) const;

 private:
  using Line = JournalLine;
  explicit SweepJournal(std::string path) : path_(std::move(path)) {}

  static std::expected<SweepJournal, std::string> open(const std::string& path);
  std::expected<void, std::string> empty(Existing existing);
  /// Writes the lines in order to a file, which is there whole or not at all.
  std::expected<void, std::string> save_as(const std::string& path) const;
  std::expected<void, std::string> rewrite() const;
  std::expected<void, std::string> rescue() const;
  void keep(JournalScan& scan);
  void note(const Line& line);

  std::string path_;
  int file_ = -1;
  std::mutex writing_;
  std::string problem_;
  std::vector<std::string> warnings_;
  std::int64_t end_ = 0;
  std::vector<Line> lines_;
  std::vector<bool> present_;  ///< by index
};

}  // namespace shardsim::cli

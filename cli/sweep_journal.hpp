// The file that a sweep's points go to, one line each: appended whole as soon as the point is
// finished, so that a sweep that is killed loses only what it was at, and put into order at the
// end.
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

class SweepJournal {
 public:
  /// An empty one. `path` empty: a temporary file that is gone at the end.
  static std::expected<SweepJournal, std::string> create(const std::string& path);
  /// What is there already, if the file is there: complete lines of the sweep with this hash and
  /// number of points. An incomplete last line is cut off. The error says if it is another sweep's.
  static std::expected<SweepJournal, std::string> resume(const std::string& path,
                                                         const std::string& hash,
                                                         std::int64_t points);

  SweepJournal(SweepJournal&&) noexcept;
  SweepJournal& operator=(SweepJournal&&) = delete;
  ~SweepJournal();

  bool has(std::int64_t index) const;
  std::size_t size() const { return lines_.size(); }
  /// Any thread may call it. False once the file cannot be written; see problem().
  bool append(std::int64_t index, const std::string& line);
  const std::string& problem() const { return problem_; }

  /// Puts the lines in the order of their points, if they are not: the file is then replaced as a
  /// whole.
  std::expected<void, std::string> sort();
  /// Writes the lines in that order to another file, which is there whole or not at all.
  std::expected<void, std::string> save_as(const std::string& path) const;
  /// Every line with its newline, in the order of the points.
  std::expected<void, std::string> for_each(
      const std::function<void(std::string_view)>& visit) const;

 private:
  struct Line {
    std::int64_t index = 0;
    std::int64_t offset = 0;
    std::int64_t length = 0;
  };
  explicit SweepJournal(std::string path) : path_(std::move(path)) {}

  static std::expected<SweepJournal, std::string> open(const std::string& path, int flags);
  std::expected<void, std::string> scan(const std::string& hash, std::int64_t points);
  std::expected<void, std::string> rewrite() const;
  void note(const Line& line);

  std::string path_;
  int file_ = -1;
  std::mutex writing_;
  std::string problem_;
  std::int64_t end_ = 0;
  std::vector<Line> lines_;
  bool spoilt_ = false;        ///< the file holds more than whole lines of the sweep
  std::vector<bool> present_;  ///< by index
};

}  // namespace shardsim::cli

#include "cli/journal_scan.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/scenario/sweep/row_check.hpp"
#include "models/scenario/sweep/sweep_point.hpp"
#include "models/scenario/sweep/sweep_row.hpp"

namespace shardsim::cli {

namespace {

const std::string row_begin =
    fmt::format(R"({{"schema":"{}","point":{{"index":)", scenario::sweep_schema);

/// One of the two begins the other.
bool agree(std::string_view a, std::string_view b) {
  const std::size_t length = std::min(a.size(), b.size());
  return a.substr(0, length) == b.substr(0, length);
}

/// The index that a line, or what is left of one, names: digits and what ends them.
std::optional<std::int64_t> index_of(std::string_view text) {
  constexpr std::size_t most_digits = 10;
  std::int64_t index = 0;
  for (std::size_t i = row_begin.size(); i < text.size(); ++i) {
    if (text[i] == ',' && i > row_begin.size()) return index;
    if (text[i] < '0' || text[i] > '9' || i >= row_begin.size() + most_digits) return std::nullopt;
    index = index * 10 + (text[i] - '0');
  }
  return std::nullopt;
}

class Scanner {
 public:
  Scanner(int file, const std::string& path, const SweepIdentity& identity)
      : file_(file), path_(path), identity_(identity) {}

  std::expected<JournalScan, std::string> scan() {
    struct stat status{};
    if (fstat(file_, &status) != 0) return cannot_read();
    if (!S_ISREG(status.st_mode)) {
      return std::unexpected(fmt::format("'{}' is no file that could be resumed", path_));
    }
    if (const std::string problem = read_lines(status.st_size); !problem.empty()) {
      return std::unexpected(problem);
    }
    if (const std::string problem = judge(); !problem.empty()) return std::unexpected(problem);
    drop_contradictions();
    if (further_ > 0) {
      made_.warnings.push_back(fmt::format(
          "'{}': {} more lines are not as this sweep writes them; their points are computed again",
          path_, further_));
    }
    return std::move(made_);
  }

 private:
  std::unexpected<std::string> cannot_read() const {
    return std::unexpected(fmt::format("cannot read '{}': {}", path_, std::strerror(errno)));
  }

  /// Hands every whole line to take(); what is behind the last one stays in line_.
  std::string read_lines(std::int64_t size) {
    std::string block(std::size_t{1} << 16, '\0');
    for (std::int64_t at = 0; at < size;) {
      const auto length = static_cast<std::size_t>(
          std::min<std::int64_t>(static_cast<std::int64_t>(block.size()), size - at));
      if (!read_exactly(file_, block.data(), length, at)) return cannot_read().error();
      for (std::size_t i = 0; i < length;) {
        const auto* end = static_cast<const char*>(std::memchr(block.data() + i, '\n', length - i));
        const std::size_t to =
            end == nullptr ? length : static_cast<std::size_t>(end - block.data()) + 1;
        line_.append(block, i, to - i);
        i = to;
        if (line_.size() > scenario::max_row_bytes) {
          return fmt::format("'{}' is no file of points: it has a line of more than {} MiB", path_,
                             scenario::max_row_bytes >> 20);
        }
        if (end == nullptr) break;
        if (std::string problem = take(); !problem.empty()) return problem;
      }
      at += static_cast<std::int64_t>(length);
    }
    return {};
  }

  std::string another_sweep(const std::string& hash) const {
    return fmt::format(
        "'{}' holds points of another sweep (hash {}, this one is {}): the scenario, the axes, "
        "the data files or the version differ",
        path_, hash, identity_.hash);
  }

  /// A whole line.
  std::string take() {
    ++number_;
    const auto bytes = static_cast<std::int64_t>(line_.size());
    const std::int64_t begin = made_.end;
    made_.end += bytes;
    const auto row = scenario::read_row(line_);
    if (row && row->hash != identity_.hash) return another_sweep(row->hash);
    if (row && row->of != identity_.points) {
      return fmt::format("'{}' holds points of a sweep of {}, this one has {}", path_, row->of,
                         identity_.points);
    }
    known_ |= row.has_value();
    if (!row) {
      take_what_is_no_point();
    } else if (row->failed == "over_budget") {
      made_.spoilt = true;  // run again, with the present budget
    } else if (const std::string flaw = flaw_of(*row); !flaw.empty()) {
      leave_out(flaw);
    } else {
      take_point({row->index, begin, bytes});
    }
    line_.clear();
    return {};
  }

  std::string head(std::int64_t index) const {
    if (identity_.head) return identity_.head(index);
    return fmt::format(R"({}{},"of":{})", row_begin, index, identity_.points);
  }

  std::string flaw_of(const scenario::SweepRow& row) const {
    if (!line_.starts_with(head(row.index) + ",")) {
      return fmt::format("its values are not those of point {}", row.index);
    }
    if (!identity_.version.empty() && row.version != identity_.version) {
      return fmt::format("its version is {}, not {}", row.version, identity_.version);
    }
    return scenario::row_flaw(line_);
  }

  void leave_out(const std::string& why) {
    made_.spoilt = true;
    constexpr std::size_t most_warnings = 10;
    if (made_.warnings.size() >= most_warnings) {
      ++further_;
      return;
    }
    made_.warnings.push_back(fmt::format(
        "{}:{}: the line is not as this sweep writes it: {}; the point is computed again", path_,
        number_, why));
  }

  void take_what_is_no_point() {
    made_.spoilt = true;
    if (!is_remains(line_) && foreign_ == 0) foreign_ = number_;
    if (is_remains(line_)) leave_out("it is not whole");
  }

  /// Whether a line may be what a kill or a crash has left of a point's.
  static bool is_remains(std::string_view text) {
    return text.starts_with('\0') || agree(text, row_begin);
  }

  void take_point(const JournalLine& line) {
    const auto at = static_cast<std::size_t>(line.index);
    if (at >= position_of_.size()) position_of_.resize(std::max(at + 1, position_of_.size() * 2));
    if (position_of_[at] == 0) {
      made_.lines.push_back(line);
      position_of_[at] = static_cast<std::uint32_t>(made_.lines.size());
      return;
    }
    if (text_of(made_.lines[position_of_[at] - 1]) == line_) {
      made_.spoilt = true;  // nothing is lost without the second
      return;
    }
    leave_out(fmt::format("point {} is there twice, with different figures", line.index));
    contradicted_.push_back(line.index);
  }

  std::string text_of(const JournalLine& line) const {
    std::string text(static_cast<std::size_t>(line.length), '\0');
    return read_exactly(file_, text.data(), text.size(), line.offset) ? text : std::string();
  }

  std::string no_point_at(std::int64_t number) const {
    return fmt::format(
        "{}:{}: this is no point of a sweep, though others are: expected that line removed, or "
        "another file",
        path_, number);
  }

  /// Whether the file is this sweep's, and what is behind its last whole line a piece of it.
  std::string judge() {
    made_.torn = !line_.empty();
    if (!known_ && made_.end > 0) return fmt::format("'{}' holds no points of a sweep", path_);
    if (foreign_ > 0) return no_point_at(foreign_);
    if (!made_.torn) return {};
    constexpr std::string_view key = R"("hash":")";
    constexpr std::size_t digits = 16;
    if (const auto at = line_.find(key); at != std::string::npos) {
      const std::string hash = line_.substr(at + key.size(), digits);
      if (!agree(hash, identity_.hash)) return another_sweep(hash);
    }
    if (is_remains(line_) && (known_ || is_piece_of_this_sweep())) return {};
    return known_ ? no_point_at(number_ + 1)
                  : fmt::format("'{}' holds no points of a sweep", path_);
  }

  /// Where there is no whole line to tell.
  bool is_piece_of_this_sweep() const {
    if (line_.starts_with('\0')) return false;
    if (line_.size() <= row_begin.size()) return line_.size() == row_begin.size();
    const auto index = index_of(line_);
    if (!index) return line_.find_first_not_of("0123456789", row_begin.size()) == line_.npos;
    return *index < identity_.points && agree(line_, head(*index) + ",");
  }

  /// Of two lines of a point that differ nobody knows the right one.
  void drop_contradictions() {
    std::ranges::sort(contradicted_);
    std::erase_if(made_.lines, [&](const JournalLine& line) {
      return std::ranges::binary_search(contradicted_, line.index);
    });
  }

  int file_;
  const std::string& path_;
  const SweepIdentity& identity_;
  JournalScan made_;
  std::string line_;
  std::int64_t number_ = 0;   ///< of the last whole line, from 1
  std::int64_t foreign_ = 0;  ///< the first that is neither a point nor what is left of one; or 0
  bool known_ = false;        ///< some line is a point of this sweep
  std::int64_t further_ = 0;  ///< lines left out without a warning of their own
  std::vector<std::uint32_t>
      position_of_;  ///< by point: of its line in made_.lines, from 1; 0: none
  std::vector<std::int64_t> contradicted_;
};

}  // namespace

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

std::expected<JournalScan, std::string> scan_journal(int file, const std::string& path,
                                                     const SweepIdentity& identity) {
  return Scanner(file, path, identity).scan();
}

}  // namespace shardsim::cli

#include "models/scenario/validation/reference_validation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/cuda/collective_name.hpp"
#include "models/scenario/validation/collectives_validation.hpp"

namespace shardsim::scenario {

namespace {

constexpr std::array<std::string_view, 11> columns{"size",   "rank",     "channel", "role",
                                                   "step",   "chunk",    "peer",    "bytes",
                                                   "action", "start_us", "end_us"};
constexpr std::size_t action_column = 8;
constexpr std::size_t start_column = 9;
constexpr std::size_t end_column = 10;

template <class T>
std::optional<T> number_of(const std::string& text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  if (problem != std::errc{} || stop != end) return std::nullopt;
  return value;
}

constexpr std::int64_t KiB = 1024;
constexpr std::int64_t MiB = 1024 * KiB;
const char* size_class(std::int64_t bytes) {
  if (bytes < 64 * KiB) return "< 64 KiB";
  if (bytes < 4 * MiB) return "64 KiB-4 MiB";
  return bytes < 64 * MiB ? "4-64 MiB" : ">= 64 MiB";
}

/// A row as text, without its times and its size.
std::string row_text(const nccl::TraceRecord& r) {
  return fmt::format("rank {} channel {} role {} step {} chunk {} peer {} bytes {} {}", r.rank,
                     r.channel, r.role, r.step, r.chunk, r.peer, r.bytes,
                     nccl::trace_action_names[static_cast<std::size_t>(r.action)]);
}

struct Span {
  double first = 1e300;
  double last = -1e300;
  void add(double start, double end) {
    first = std::min(first, start);
    last = std::max(last, end);
  }
  double length() const { return last > first ? last - first : 0; }
};

/// Compares the rows of one size with those of the simulator as these come.
class SizeComparison {
 public:
  SizeComparison(const CsvTable& log, std::size_t begin, std::size_t end)
      : log_(log), next_(begin), end_(end) {
    for (std::size_t row = begin; row < end; ++row) {
      measured_.add(*number_of<double>(log.text(row, start_column)),
                    *number_of<double>(log.text(row, end_column)));
    }
  }

  void compare(const nccl::TraceRecord& record, const nccl::TraceTimes& times) {
    predicted_.add(times.start.microseconds(), times.end.microseconds());
    if (!difference_.empty()) return;
    if (next_ == end_) {
      difference_ = fmt::format("the log ends before {}", row_text(record));
      return;
    }
    const nccl::TraceRecord logged = record_at(next_);
    if (!(logged == record)) {
      difference_ = fmt::format("line {}: {}; simulated: {}", log_.where(next_, 0).line,
                                row_text(logged), row_text(record));
    }
    ++next_;
  }

  std::string finish() {
    if (difference_.empty() && next_ < end_) {
      difference_ = fmt::format("line {}: {}; the simulator has no more rows",
                                log_.where(next_, 0).line, row_text(record_at(next_)));
    }
    return difference_;
  }
  double measured_us() const { return measured_.length(); }
  double predicted_us() const { return predicted_.length(); }

 private:
  template <class T>
  T number(std::size_t row, std::size_t column) const {
    return *number_of<T>(log_.text(row, column));
  }
  nccl::TraceRecord record_at(std::size_t row) const {
    const auto found = std::ranges::find(nccl::trace_action_names, log_.text(row, action_column));
    return {number<std::int32_t>(row, 1),
            number<std::int32_t>(row, 2),
            number<std::int32_t>(row, 3),
            number<std::int64_t>(row, 4),
            number<std::int64_t>(row, 5),
            number<std::int32_t>(row, 6),
            number<std::int64_t>(row, 7),
            static_cast<nccl::TraceAction>(found - nccl::trace_action_names.begin())};
  }

  const CsvTable& log_;
  std::size_t next_;
  std::size_t end_;
  Span measured_;
  Span predicted_;
  std::string difference_;
};

void check_row(const CsvTable& table, std::size_t row, simcore::Diagnostics& diagnostics) {
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const std::string& text = table.text(row, column);
    bool good = true;
    if (column == action_column) {
      good = std::ranges::find(nccl::trace_action_names, text) != nccl::trace_action_names.end();
    } else if (column >= start_column) {
      good = number_of<double>(text).has_value();
    } else if (column == 0 || column == 4 || column == 5 || column == 7) {
      good = number_of<std::int64_t>(text).has_value();
    } else {
      good = number_of<std::int32_t>(text).has_value();
    }
    if (good) continue;
    diagnostics.error(
        table.where(row, column),
        fmt::format("expected {} for {}", column == action_column ? "an action" : "a number",
                    columns[column]));
    return;
  }
  const double start = *number_of<double>(table.text(row, start_column));
  const double end = *number_of<double>(table.text(row, end_column));
  if (start >= 0 && start <= end && end < 1e300) return;
  diagnostics.error(table.where(row, start_column),
                    fmt::format("expected times from 0 on, the start before the end, found {} and "
                                "{}",
                                table.text(row, start_column), table.text(row, end_column)));
}

class Validation {
 public:
  Validation(const DataFolders& data, simcore::Diagnostics& diagnostics)
      : data_(data), diagnostics_(diagnostics) {}

  bool add(const ReferenceLog& log) {
    const auto cluster = load_collective_cluster(log.setup.cluster, data_, diagnostics_);
    if (!cluster) return false;
    auto run = CollectiveRun::make(*cluster);
    if (!run) {
      diagnostics_.error(log.rows.whole(), run.error());
      return false;
    }
    ReferenceSequence sequence{log.name, 0, log.rows.rows(), {}};
    for (std::size_t row = 0; row < log.rows.rows();) {
      std::size_t end = row;
      while (end < log.rows.rows() && log.rows.text(end, 0) == log.rows.text(row, 0)) ++end;
      add_size(log, *run, row, end, sequence);
      row = end;
      ++sequence.sizes;
    }
    const auto missing = std::ranges::find_if(log.setup.sizes, [&log](std::int64_t size) {
      return !log.sizes.contains(std::to_string(size));
    });
    if (missing != log.setup.sizes.end() && sequence.difference.empty()) {
      sequence.difference = fmt::format("size {} of the work file is not in the log", *missing);
    }
    report_.sequences.push_back(std::move(sequence));
    return true;
  }

  ReferenceReport finish() {
    report_.times.summary = score_groups(report_.times.rows);
    return std::move(report_);
  }

 private:
  void add_size(const ReferenceLog& log, CollectiveRun& run, std::size_t begin, std::size_t end,
                ReferenceSequence& sequence) {
    const auto size = *number_of<std::int64_t>(log.rows.text(begin, 0));
    ValidationRow row;
    row.id = fmt::format("{}:{}", log.name, size);
    row.quantity = collective_time;
    row.mapped = true;
    SizeComparison comparison(log.rows, begin, end);
    row.measured = comparison.measured_us();
    const auto planned = run.run(log.setup.settings, size);
    const auto traced =
        run.trace(log.setup.settings, size,
                  [&comparison](const nccl::TraceRecord& record, const nccl::TraceTimes& times) {
                    comparison.compare(record, times);
                  });
    if (!traced || !planned || !*planned) {
      row.why_not = !traced ? traced.error() : "less than an element for each rank";
    } else {
      row.why_not = comparison.finish();
    }
    if (row.why_not.empty()) {
      row.predicted = comparison.predicted_us();
      const std::string what =
          fmt::format("{} {} {}", cuda::collective_name(log.setup.settings.kind),
                      (*planned)->algorithm, (*planned)->protocol);
      row.groups = {{0, fmt::format("{}, {}", (*planned)->protocol, size_class(size))},
                    {1, what},
                    {2, "all"}};
    } else if (sequence.difference.empty()) {
      sequence.difference = fmt::format("size {}, {}", size, row.why_not);
    }
    report_.times.rows.push_back(std::move(row));
  }

  const DataFolders& data_;
  simcore::Diagnostics& diagnostics_;
  ReferenceReport report_;
};

}  // namespace

std::optional<ReferenceLog> ReferenceLog::read(std::shared_ptr<const simcore::SourceText> log,
                                               ChunkWorkSetup setup,
                                               simcore::Diagnostics& diagnostics) {
  std::string name = log->name;
  auto table = CsvTable::read(std::move(log), diagnostics);
  if (!table) return std::nullopt;
  if (!std::ranges::equal(table->columns(), columns)) {
    diagnostics.error(table->whole(),
                      fmt::format("expected the columns {}", fmt::join(columns, ",")));
    return std::nullopt;
  }
  std::set<std::string> sizes;
  for (std::size_t row = 0; row < table->rows() && !diagnostics.has_errors(); ++row) {
    check_row(*table, row, diagnostics);
    const bool begins = row == 0 || table->text(row, 0) != table->text(row - 1, 0);
    if (begins && !sizes.insert(table->text(row, 0)).second) {
      diagnostics.error(table->where(row, 0), "expected the rows of a size together");
    }
  }
  if (diagnostics.has_errors()) return std::nullopt;
  return ReferenceLog{std::move(name), std::move(setup), std::move(*table), std::move(sizes)};
}

bool ReferenceReport::all_equal() const {
  return std::ranges::all_of(sequences, [](const auto& one) { return one.difference.empty(); });
}

std::optional<ReferenceReport> validate_references(const std::vector<ReferenceLog>& logs,
                                                   const DataFolders& data,
                                                   simcore::Diagnostics& diagnostics) {
  Validation validation(data, diagnostics);
  for (const ReferenceLog& log : logs) {
    if (!validation.add(log)) return std::nullopt;
  }
  return validation.finish();
}

std::string to_text(const std::vector<ReferenceSequence>& sequences) {
  std::string text;
  for (const ReferenceSequence& one : sequences) {
    text += fmt::format("{}: {} sizes, {} rows, ", one.log, one.sizes, one.rows);
    text += one.difference.empty() ? std::string("the simulator's sequence\n")
                                   : fmt::format("not the simulator's: {}\n", one.difference);
  }
  return text;
}

}  // namespace shardsim::scenario

#include "cli/merge_command.hpp"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/file_lock.hpp"
#include "cli/output_target.hpp"
#include "cli/points_status.hpp"
#include "cli/shell_text.hpp"
#include "cli/sweep_journal.hpp"
#include "cli/sweep_outputs.hpp"
#include "models/scenario/sweep/metric.hpp"
#include "models/scenario/sweep/row_check.hpp"
#include "models/scenario/sweep/sweep_row.hpp"
#include "report/page.hpp"

namespace shardsim::cli {

namespace {

constexpr int exit_bad_input = 2;

struct MergeArguments {
  std::vector<std::string> parts;
  std::string json;
  std::string csv;
  std::string report;
  std::string plot;
  bool quiet = false;
};

int complain(const std::string& message) {
  std::cerr << "shardsim merge: " << message << '\n';
  return exit_bad_input;
}

/// As std::getline, but a line longer than any point is cut off behind what a point may have.
bool next_line(std::istream& in, std::string& line) {
  line.clear();
  std::streambuf& bytes = *in.rdbuf();
  for (int c = bytes.sbumpc(); c != std::istream::traits_type::eof(); c = bytes.sbumpc()) {
    if (c == '\n') return true;
    line += static_cast<char>(c);
    if (line.size() > scenario::max_row_bytes) return true;
  }
  in.setstate(std::ios::eofbit);
  return !line.empty();
}

class Merger {
 public:
  explicit Merger(const MergeArguments& arguments) : arguments_(arguments) {}

  int run() {
    if (!arguments_.plot.empty()) {
      const auto metric = scenario::find_metric(arguments_.plot);
      if (!metric) return complain("--plot: " + metric.error());
    }
    if (!arguments_.report.empty() && !report::has_pages()) {
      return complain("--report: " + report::no_pages_message());
    }
    const auto differ = check_targets(
        {},
        {{"--json", arguments_.json}, {"--csv", arguments_.csv}, {"--report", arguments_.report}});
    if (!differ) return complain(differ.error());
    std::vector<NamedTarget> parts;
    for (const std::string& part : arguments_.parts) parts.push_back({"a part", part});
    // A part may be where the points go, but not the tables.
    const auto kept =
        check_targets(parts, {{"--csv", arguments_.csv}, {"--report", arguments_.report}});
    if (!kept) return complain(kept.error());
    // Lines are gathered in a file without a name, as a part may be the target.
    auto journal = SweepJournal::create("");
    if (!journal) return complain(journal.error());
    for (const std::string& part : arguments_.parts) {
      if (!add(part, *journal)) return complain(problem_);
    }
    if (!complete()) return complain(problem_);
    const SweepTargets targets{arguments_.json,  arguments_.csv,    arguments_.plot,
                               arguments_.quiet, arguments_.report, report_origin()};
    if (const auto written = write_outputs(*journal, targets); !written) {
      return complain(written.error());
    }
    const auto points = status_of_points(*journal);
    if (!points) return complain(points.error());
    if (!points->message.empty()) complain(points->message);
    return points->status;
  }

 private:
  /// The parts' lines tell of the scenario, but not its text.
  report::SweepOrigin report_origin() const {
    std::string command = "shardsim merge";
    for (const std::string& part : arguments_.parts) command += " " + shell_quoted(part);
    return {scenario_, std::move(command), "", ""};
  }

  bool add(const std::string& part, SweepJournal& journal) {
    std::error_code ignored;
    if (std::filesystem::is_directory(part, ignored)) {
      return fail(fmt::format("'{}' is a folder: expected a file of points", part));
    }
    const auto lock = FileLock::take(part, Sharing::shared);
    if (!lock) return fail(lock.error());
    std::ifstream in(part, std::ios::binary);
    if (!in) return fail(fmt::format("'{}' cannot be opened", part));
    std::string line;
    for (std::int64_t number = 1; next_line(in, line); ++number) {
      const auto row = scenario::read_row(line);
      if (!row || in.eof()) {
        return fail(fmt::format(
            "{}:{}: this is no complete point of a sweep; run that part again with --resume", part,
            number));
      }
      if (const std::string flaw = scenario::row_flaw(line); !flaw.empty()) {
        return fail(fmt::format(
            "{}:{}: this is no point as a sweep writes it: {}; run that part again with --resume",
            part, number, flaw));
      }
      if (!belongs(*row, part, number)) return false;
      if (!journal.append(row->index, line + "\n")) return fail(journal.problem());
    }
    files_.push_back(part);
    return true;
  }

  bool belongs(const scenario::SweepRow& row, const std::string& part, std::int64_t line) {
    if (file_of_.empty()) {
      hash_ = row.hash;
      of_ = row.of;
      scenario_ = row.scenario;
      first_ = part;
    }
    if (row.hash != hash_ || row.of != of_) {
      return fail(fmt::format(
          "{}:{}: a point of another sweep (hash {}, {} points) than in {} (hash {}, {} points): "
          "the scenario, the axes, the data files or the version differ",
          part, line, row.hash, row.of, first_, hash_, of_));
    }
    file_of_.resize(static_cast<std::size_t>(of_), 0);
    std::uint32_t& file = file_of_[static_cast<std::size_t>(row.index)];
    if (file != 0) {
      return fail(fmt::format("{}:{}: point {} is there twice, also in {}", part, line, row.index,
                              file - 1 < files_.size() ? files_[file - 1] : part));
    }
    file = static_cast<std::uint32_t>(files_.size()) + 1;
    return true;
  }

  bool complete() {
    if (file_of_.empty()) return fail("the parts hold no points");
    const auto missing = std::ranges::count(file_of_, 0U);
    if (missing == 0) return true;
    std::string which;
    constexpr int most = 10;
    int shown = 0;
    for (std::size_t i = 0; i < file_of_.size() && shown < most; ++i) {
      if (file_of_[i] != 0) continue;
      which += fmt::format("{}{}", shown == 0 ? "" : ", ", i);
      ++shown;
    }
    return fail(fmt::format("{} of {} points are missing: {}{}", missing, of_, which,
                            missing > most ? ", ..." : ""));
  }

  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }

  const MergeArguments& arguments_;
  std::string problem_;
  std::string hash_;
  std::string scenario_;  ///< its name
  std::int64_t of_ = 0;
  std::string first_;
  std::vector<std::string> files_;      ///< read to their end
  std::vector<std::uint32_t> file_of_;  ///< by point: its file's number from 1; 0: missing
};

}  // namespace

void add_merge_command(CommandLine& line) {
  auto arguments = std::make_shared<MergeArguments>();
  CLI::App* merge = line.root().add_subcommand("merge", "Put the parts of a sweep together");
  merge->add_option("parts", arguments->parts, "Files that `sweep --shard I/N --json` wrote")
      ->type_name(label::file)
      ->required();
  const auto add = [merge](const char* name, std::string& target, const char* what) {
    merge->add_option(name, target, what)->type_name(label::file);
  };
  add("--json", arguments->json, "Write every point as a line of JSON, in order");
  add("--csv", arguments->csv, "Write the points as CSV");
  add("--report", arguments->report,
      "Write a page with charts of the points that opens without a network (HTML)");
  merge
      ->add_option("--plot", arguments->plot,
                   "Draw a figure over the first axis; by default tokens_per_s")
      ->type_name(label::figure)
      ->expected(0, 1)
      ->default_str("throughput.tokens_per_s");
  merge->add_flag("--quiet", arguments->quiet, "No table");
  line.describe(
      *merge,
      {"The parts may come from different machines. They are refused if points are missing, there "
       "twice, or of another sweep: another scenario, other axes, other data or another version.",
       {{"Two halves of a sweep, made one",
         {"shardsim sweep fsdp2-llama-2-7b-4xdgx-h100 --over cluster.nodes=1..8*2 --shard 1/2 "
          "--json part-1.jsonl",
          "shardsim sweep fsdp2-llama-2-7b-4xdgx-h100 --over cluster.nodes=1..8*2 --shard 2/2 "
          "--json part-2.jsonl",
          "shardsim merge part-1.jsonl part-2.jsonl --csv points.csv"}}}});
  merge->callback(
      [arguments, &line] { line.choose([arguments] { return Merger(*arguments).run(); }); });
}

}  // namespace shardsim::cli

#include "cli/sweep_outputs.hpp"

#include <iostream>
#include <ostream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/output_target.hpp"
#include "cli/terminal_style.hpp"
#include "models/scenario/sweep/curve_plot.hpp"
#include "models/scenario/sweep/sweep_row.hpp"
#include "models/scenario/sweep/sweep_table.hpp"

namespace shardsim::cli {

using scenario::SweepRow;

namespace {

constexpr std::size_t most_rows_shown = 40;

std::expected<void, std::string> write_csv(const SweepJournal& journal, std::ostream& out) {
  bool begun = false;
  return journal.for_each([&](std::string_view line) {
    const auto row = scenario::read_row(line);
    if (!row) return;
    if (!begun) {
      std::vector<std::string> keys;
      for (const scenario::PointValue& one : row->values) keys.push_back(one.key);
      out << scenario::csv_header(keys);
      begun = true;
    }
    out << scenario::csv_row(*row);
  });
}

std::expected<void, std::string> copy_lines(const SweepJournal& journal, std::ostream& out) {
  return journal.for_each([&](std::string_view line) { out << line; });
}

/// Writes with something that may fail while reading.
std::expected<void, std::string> document(
    const std::string& target, const SweepJournal& journal,
    std::expected<void, std::string> (*write)(const SweepJournal&, std::ostream&)) {
  std::expected<void, std::string> inner;
  const auto outer =
      write_document(target, [&](std::ostream& out) { inner = write(journal, out); });
  return inner ? outer : inner;
}

std::expected<void, std::string> write_report(const SweepJournal& journal,
                                              const SweepTargets& targets) {
  report::SweepReport report(targets.report_origin);
  const auto read = journal.for_each([&](std::string_view line) {
    const auto json = nlohmann::ordered_json::parse(line, nullptr, false);
    if (json.is_object()) report.add(json);
  });
  if (!read) return read;
  const auto page = report.page();
  if (!page) return std::unexpected(page.error());
  return write_document(targets.report, [&](std::ostream& out) { out << *page; });
}

std::expected<void, std::string> print_for_people(const SweepJournal& journal,
                                                  const SweepTargets& targets) {
  if (targets.quiet && targets.plot.empty()) return {};
  std::vector<SweepRow> shown;
  scenario::CurvePlot plot(targets.plot);
  const auto read = journal.for_each([&](std::string_view line) {
    // Reading a line costs about as much as a small point's run.
    if (targets.plot.empty() && shown.size() == most_rows_shown) return;
    auto row = scenario::read_row(line);
    if (!row) return;
    if (!targets.plot.empty()) plot.add(*row);
    if (shown.size() < most_rows_shown) shown.push_back(std::move(*row));
  });
  if (!read) return read;
  std::ostream& people = targets.standard_output_taken() ? std::cerr : std::cout;
  if (!targets.quiet) {
    people << scenario::sweep_table(shown);
    if (journal.size() > shown.size()) {
      people << fmt::format("  ... and {} more points\n", journal.size() - shown.size());
    }
    people << scenario::sweep_note(shown);
  }
  if (!targets.plot.empty()) {
    people << '\n' << plot.draw(terminal_is_unicode());
  }
  people.flush();
  if (!people) {
    fall_silent_without_reader();
    return std::unexpected(std::string("cannot write the table"));
  }
  return {};
}

}  // namespace

std::expected<void, std::string> write_outputs(SweepJournal& journal, const SweepTargets& targets) {
  if (!targets.json.empty() && targets.json != journal.path()) {
    if (auto done = document(targets.json, journal, copy_lines); !done) return done;
  }
  if (!targets.csv.empty()) {
    if (auto done = document(targets.csv, journal, write_csv); !done) return done;
  }
  if (!targets.report.empty()) {
    if (auto done = write_report(journal, targets); !done) return done;
  }
  if (auto done = print_for_people(journal, targets); !done) return done;
  return journal.finish();
}

}  // namespace shardsim::cli

// A sweep's file of points that `--resume` goes on with.
#include <sstream>

#include "cli/sweep_journal.hpp"
#include "models/scenario/sweep/curve_plot.hpp"
#include "models/scenario/sweep/sweep_row.hpp"
#include "models/scenario/sweep/sweep_table.hpp"
#include "tests/fuzz/memory_files.hpp"
#include "tests/fuzz/targets.hpp"

namespace shardsim::fuzz {

namespace {

void show(std::string_view input) {
  std::vector<scenario::SweepRow> rows;
  scenario::CurvePlot plot("throughput.tokens_per_s");
  for (const std::string_view line : lines_of(input, 100)) {
    const auto row = scenario::read_row(line);
    if (!row) continue;
    require(scenario::csv_row(*row).ends_with('\n'), "a row that does not end its line");
    plot.add(*row);
    rows.push_back(*row);
  }
  scenario::sweep_table(rows);
  plot.draw(true);
  plot.draw(false);
}

}  // namespace

void resume_sweep(std::string_view input) {
  show(input);
  std::string hash = "0000000000000000";
  std::int64_t of = 8;
  if (const auto row = scenario::read_row(input.substr(0, input.find('\n')))) {
    hash = row->hash;
    of = row->of;
  }
  auto journal = cli::SweepJournal::resume(unnamed_file(0, input).string(), {hash, of});
  if (!journal) {
    require(!journal.error().empty(), "a refusal without a reason");
    return;
  }
  std::size_t lines = 0;
  std::int64_t last = -1;
  const auto read = journal->for_each([&](std::string_view line) {
    const auto row = scenario::read_row(line);
    require(row && row->index > last && row->of == of, "lines out of order");
    last = row->index;
    ++lines;
  });
  require(read && lines == journal->size(), "points that were lost");
}

}  // namespace shardsim::fuzz

// What comes out of a journal of points: the JSON Lines, CSV, a table and a curve.
#pragma once

#include <expected>
#include <string>

#include "cli/sweep_journal.hpp"
#include "report/sweep_report.hpp"

namespace shardsim::cli {

struct SweepTargets {
  std::string json;  ///< the journal's own file, or '-'; empty: none wanted
  std::string csv;
  std::string plot;  ///< figure to draw; empty: none
  bool quiet = false;
  std::string report;                 ///< HTML file, or '-'; empty: none
  report::SweepOrigin report_origin;  ///< for the report
  bool standard_output_taken() const { return json == "-" || csv == "-" || report == "-"; }
};

/// Puts the journal into order and writes all that is wanted. The error is a message.
std::expected<void, std::string> write_outputs(SweepJournal& journal, const SweepTargets& targets);

}  // namespace shardsim::cli

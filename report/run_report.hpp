// The report of one run: the result with what a picture of it needs, and the page that shows them.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "models/scenario/experiment.hpp"
#include "models/scenario/simulation.hpp"

namespace shardsim::report {

struct RunReport {
  const scenario::Experiment& experiment;
  const scenario::RunOutput& output;
  std::vector<scenario::LinkLoad> loads;  ///< by LinkId
  std::string command;                    ///< with which the run can be repeated
};

/// {schema: "shardsim.run_report/1", command, configuration: {file, text, overrides}, result,
/// memory_timeline, streams, topology}. `result` is that of `--json` without its memory timeline,
/// which stands beside it as columns; for `streams` and `topology` see stream_timeline.hpp and
/// topology_picture.hpp. The streams are those of the slowest rank.
nlohmann::ordered_json run_report_data(const RunReport& report);

/// The page. The error says that this build has none.
std::expected<std::string, std::string> run_report_page(const RunReport& report);

}  // namespace shardsim::report

// The report of a sweep: every point with its figures, as columns, and the page that shows them.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace shardsim::report {

/// A published measurement that stands beside the curves.
struct MeasuredPoint {
  double gpus = 0;
  double tokens_per_s_per_gpu = 0;
  std::string source;  ///< who measured what; points of one source are one series
};

struct SweepReport {
  std::string name;     ///< of the scenario
  std::string command;  ///< with which the sweep can be repeated
  std::string file;     ///< of the scenario
  std::string text;     ///< of that file
  /// The lines of `sweep --json`, in the order of the points: a result with "point", or "point"
  /// with "failed". What a line lacks is unknown.
  const std::vector<nlohmann::ordered_json>& points;
  std::vector<MeasuredPoint> measured;
};

/// {schema: "shardsim.sweep_report/1", name, command, configuration: {file, text}, keys: [{name,
/// values}], metrics: {NAME: [...]}, failed: [{kind, message} or null], measured: [...]}: columns,
/// a row a point; a metric of a point that failed is null. Values of keys that are lists or maps
/// are their JSON text.
nlohmann::ordered_json sweep_report_data(const SweepReport& report);

/// The page. The error says that this build has none.
std::expected<std::string, std::string> sweep_report_page(const SweepReport& report);

}  // namespace shardsim::report

// The report of a sweep: every point with its figures, as columns, and the page that shows them.
#pragma once

#include <cstddef>
#include <expected>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace shardsim::report {

/// What was swept, and how to do it again.
struct SweepOrigin {
  std::string name;     ///< of the scenario
  std::string command;  ///< with which the sweep can be repeated
  std::string file;     ///< of the scenario
  std::string text;     ///< of that file
};

class SweepReport {
 public:
  explicit SweepReport(SweepOrigin origin);

  /// Adds a line of `sweep --json`: a result with "point", or "point" with "failed". What a line
  /// lacks is unknown. Of a line only the figures of the report are kept.
  void add(const nlohmann::ordered_json& line);

  /// {schema: "shardsim.sweep_report/1", name, command, configuration: {file, text}, keys: [{name,
  /// values}], metrics: {NAME: [...]}, failed: [{kind, message} or null], measured: [{gpus,
  /// tokens_per_s_per_gpu, source}]}: columns, a row a point; a metric of a point that failed is
  /// null. Values of keys that are lists or maps are their JSON text. Measured points are those
  /// that stand in the lines, each once.
  nlohmann::ordered_json data() const;

  /// The page. The error says that this build has none.
  std::expected<std::string, std::string> page() const;

 private:
  void add_values(const nlohmann::ordered_json& line);
  void add_metrics(const nlohmann::ordered_json& result);
  void add_measured(const nlohmann::ordered_json& line);

  SweepOrigin origin_;
  std::size_t points_ = 0;
  std::vector<std::string> keys_;               ///< in the order in which they first appear
  std::vector<nlohmann::ordered_json> values_;  ///< a column a key
  nlohmann::ordered_json metrics_ = nlohmann::ordered_json::object();
  nlohmann::ordered_json failed_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json measured_ = nlohmann::ordered_json::array();
  std::set<std::string> measured_seen_;
};

}  // namespace shardsim::report

#include "models/scenario/validation/collectives_validation.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

namespace shardsim::scenario {

namespace {

constexpr std::array point_columns{"table", "bytes", "time_us"};
constexpr std::array table_columns{"table", "site",       "gpu",        "gpus_per_node",
                                   "nodes", "intra_node", "inter_node", "nccl_version",
                                   "env",   "collective", "dtype",      "note"};

std::optional<double> number_in(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  constexpr double below = 1e15;
  if (problem != std::errc{} || stop != end || !(value > 0 && value < below)) return std::nullopt;
  return value;
}

template <std::size_t Count>
void require_columns(const CsvTable& table, const std::array<const char*, Count>& names,
                     simcore::Diagnostics& diagnostics) {
  for (const char* const name : names) {
    if (table.column(name)) continue;
    diagnostics.error(table.whole(), fmt::format("there is no column '{}'", name));
  }
}

void check_points(const CollectiveTables& made, simcore::Diagnostics& diagnostics) {
  std::map<std::string, std::size_t> known;
  const std::size_t id = *made.tables.column("table");
  for (std::size_t row = 0; row < made.tables.rows(); ++row) {
    const std::string& name = made.tables.text(row, id);
    if (known.emplace(name, row).second) continue;
    diagnostics.error(made.tables.where(row, id),
                      fmt::format("the table {} is there twice", simcore::quote(name)));
  }
  const std::size_t table = *made.points.column("table");
  for (std::size_t row = 0; row < made.points.rows(); ++row) {
    if (!known.contains(made.points.text(row, table))) {
      diagnostics.error(
          made.points.where(row, table),
          fmt::format("there is no table {}", simcore::quote(made.points.text(row, table))));
    }
    for (const char* const name : {"bytes", "time_us"}) {
      const std::size_t column = *made.points.column(name);
      if (number_in(made.points.text(row, column))) continue;
      diagnostics.error(made.points.where(row, column),
                        fmt::format("expected a number above 0 and below 1e15 for {}", name));
    }
  }
}

constexpr std::int64_t KiB = 1024;
constexpr std::int64_t MiB = 1024 * KiB;

/// Size classes of the noise floors that repeats of nccl-tests show.
struct SizeClass {
  std::int64_t below;
  const char* name;
};
constexpr std::array size_classes{SizeClass{64 * KiB, "< 64 KB"}, SizeClass{8 * MiB, "64 KB-4 MB"},
                                  SizeClass{256 * MiB, "8-128 MB"},
                                  SizeClass{std::int64_t{1} << 62, ">= 256 MB"}};

const char* size_class(std::int64_t bytes) {
  return std::ranges::find_if(size_classes, [bytes](const SizeClass& c) { return bytes < c.below; })
      ->name;
}

const char* node_class(std::int64_t nodes) {
  if (nodes == 1) return "one node";
  return nodes == 2 ? "two nodes" : "more nodes";
}

/// The levels at which groups are listed.
enum Level : int { by_class, by_table, by_machine, by_site };

class Validation {
 public:
  Validation(const CollectiveTables& tables, const CollectivesValidation& options)
      : tables_(tables), options_(options) {
    const std::size_t id = *tables.points.column("table");
    for (std::size_t row = 0; row < tables.points.rows(); ++row) {
      points_[tables.points.text(row, id)].push_back(row);
    }
  }

  ValidationReport run() {
    for (std::size_t row = 0; row < tables_.tables.rows(); ++row) {
      add_table(facts_of(row));
      if (options_.progress) {
        options_.progress(static_cast<double>(row + 1) /
                          static_cast<double>(tables_.tables.rows()));
      }
    }
    report_.summary = score_groups(report_.rows);
    add_scores_by_table();
    return std::move(report_);
  }

 private:
  TableFacts facts_of(std::size_t row) const {
    TableFacts facts;
    const auto& columns = tables_.tables.columns();
    for (std::size_t column = 0; column < columns.size(); ++column) {
      facts[columns[column]] = tables_.tables.text(row, column);
    }
    return facts;
  }

  void add_table(const TableFacts& facts) {
    const auto mapped = map_table(facts, options_.rules);
    std::string why_not;
    if (!mapped) why_not = mapped.error();
    CollectiveRun* const run = mapped ? run_of(mapped->cluster, why_not) : nullptr;
    std::map<std::string, std::vector<double>> errors;
    for (const std::size_t point : points_[facts.at("table")]) {
      ValidationRow row;
      const std::string& bytes = cell(point, "bytes");
      row.id = facts.at("table") + ":" + bytes;
      row.quantity = collective_time;
      row.measured = number_in(cell(point, "time_us"));
      row.mapped = mapped.has_value();
      row.why_not = why_not;
      if (run != nullptr) predict(*run, mapped->settings, facts, point, row);
      if (const auto error = row.relative_error()) {
        errors[row.groups.front().name].push_back(std::abs(*error));
      }
      report_.rows.push_back(std::move(row));
    }
    for (auto& [name, values] : errors) {
      std::ranges::sort(values);
      medians_[name].push_back(percentile(values, 0.5));
    }
  }

  void predict(CollectiveRun& run, const CollectiveSettings& settings, const TableFacts& facts,
               std::size_t point, ValidationRow& row) {
    const auto bytes = static_cast<std::int64_t>(*number_in(cell(point, "bytes")));
    const auto done = run.run(settings, bytes);
    if (!done) {
      row.why_not = done.error();
      return;
    }
    if (!*done) {
      row.why_not = "less than an element for each rank";
      return;
    }
    row.predicted = (*done)->time_us;
    const std::string nodes = node_class(static_cast<std::int64_t>(*number_in(facts.at("nodes"))));
    const std::string sizes = size_class(bytes);
    row.groups.push_back({by_class, fmt::format("{}, {}", nodes, sizes)});
    if (nodes == "one node" && bytes >= 8 * MiB) {
      row.groups.push_back({by_class, "one node, >= 8 MB"});
    }
    row.groups.push_back({by_machine, fmt::format("{} x {}, {}, {}", facts.at("nodes"),
                                                  facts.at("gpu"), facts.at("collective"), sizes)});
    row.groups.push_back({by_site, fmt::format("{}, {}", facts.at("site"), sizes)});
  }

  const std::string& cell(std::size_t point, const char* column) const {
    return tables_.points.text(point, *tables_.points.column(column));
  }

  /// Tables of one cluster share it. Null with a reason if there is no such cluster.
  CollectiveRun* run_of(const ClusterRequest& request, std::string& why_not) {
    const std::string key = key_of(request);
    auto& known = known_[key];
    if (!known) known = load(request);
    why_not = known->why_not;
    return known->run.get();
  }

  struct Known {
    std::unique_ptr<CollectiveCluster> cluster;
    std::unique_ptr<CollectiveRun> run;
    std::string why_not;
  };

  std::unique_ptr<Known> load(const ClusterRequest& request) const {
    auto made = std::make_unique<Known>();
    simcore::Diagnostics diagnostics;
    ClusterRequest limited = request;
    limited.limits = options_.sizes;
    made->cluster = load_collective_cluster(limited, options_.data, diagnostics);
    if (!made->cluster || diagnostics.has_errors()) {
      made->why_not = "no cluster";
      for (const simcore::Diagnostic& one : diagnostics.all()) {
        if (one.severity == simcore::Severity::error) made->why_not = one.message;
      }
      return made;
    }
    auto run = CollectiveRun::make(*made->cluster);
    if (run) {
      made->run = std::make_unique<CollectiveRun>(std::move(*run));
    } else {
      made->why_not = run.error();
    }
    return made;
  }

  static std::string key_of(const ClusterRequest& r) {
    std::string key = fmt::format(
        "{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}|{}", r.topology, r.nodes,
        r.gpus_per_node.value_or(0), r.nccl_version, r.nics.count.value_or(0),
        r.nics.bandwidth.value_or(simcore::BitRate{}).bytes_per_second,
        r.nics.efficiency.value_or(simcore::Fraction{}).value,
        r.nics.latency.value_or(simcore::SimTime{}).picoseconds(), r.compute_capability.value_or(0),
        r.gpu_link.value_or(network::CableSpec{}).usable().bytes_per_second,
        r.nvlink_links.value_or(0), r.nics.nics_per_device.value_or(0),
        r.nics.software_latency.value_or(simcore::SimTime{}).picoseconds(),
        r.nics.rendezvous_latency.value_or(simcore::SimTime{}).picoseconds());
    for (const auto& [name, value] : r.env) key += fmt::format("|{}={}", name, value);
    return key;
  }

  void add_scores_by_table() {
    std::vector<GroupScore> scores;
    for (const auto& [name, medians] : medians_) {
      scores.push_back(score(fmt::format("{}, {}, by table", collective_time, name), medians));
    }
    report_.summary.insert(report_.summary.begin(), scores.begin(), scores.end());
  }

  const CollectiveTables& tables_;
  const CollectivesValidation& options_;
  std::map<std::string, std::vector<std::size_t>> points_;  ///< rows, by table
  std::map<std::string, std::unique_ptr<Known>> known_;
  std::map<std::string, std::vector<double>> medians_;  ///< of tables, by class
  ValidationReport report_;
};

}  // namespace

std::optional<CollectiveTables> CollectiveTables::read(
    std::shared_ptr<const simcore::SourceText> points,
    std::shared_ptr<const simcore::SourceText> tables, simcore::Diagnostics& diagnostics) {
  auto first = CsvTable::read(std::move(points), diagnostics);
  auto second = CsvTable::read(std::move(tables), diagnostics);
  if (!first || !second) return std::nullopt;
  require_columns(*first, point_columns, diagnostics);
  require_columns(*second, table_columns, diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  CollectiveTables made{std::move(*first), std::move(*second)};
  check_points(made, diagnostics);
  return diagnostics.has_errors() ? std::nullopt : std::optional(std::move(made));
}

ValidationReport validate_collectives(const CollectiveTables& tables,
                                      const CollectivesValidation& options) {
  return Validation(tables, options).run();
}

}  // namespace shardsim::scenario

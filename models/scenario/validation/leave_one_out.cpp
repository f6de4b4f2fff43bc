#include "models/scenario/validation/leave_one_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "models/scenario/accuracy/forecast_interval.hpp"

namespace shardsim::scenario {

namespace {

using Rows = std::vector<const Residual*>;

/// Measured over predicted of one run, and whether its interval holds it.
struct Outcome {
  const Residual* row;
  double ratio = 1;
  std::optional<bool> held;
};

/// Factor on the training rate that `rows` ask for; nothing without rows that tell.
std::optional<double> fitted_factor(const Rows& rows) {
  constexpr double least_share = 0.5;
  Rows telling;
  std::vector<double> logs;
  for (const Residual* row : rows) {
    if (!row->run.calibrated || row->rate_share < least_share) continue;
    telling.push_back(row);
    logs.push_back(-std::log(row->measured_over_predicted) / row->rate_share);
  }
  if (telling.empty()) return std::nullopt;
  return std::exp(weighted_quantile(logs, group_weights(telling), 0.5));
}

/// The constants of every GPU as fitted on a part of the table.
class Fit {
 public:
  explicit Fit(Rows rows) : rows_(std::move(rows)) {}

  /// Measured over predicted with these constants.
  double ratio(const Residual& row) {
    const auto factor = factor_for(row.run);
    if (!factor) return row.measured_over_uncalibrated;
    return row.measured_over_predicted * std::pow(*factor, row.rate_share);
  }
  bool knows(const RunFacts& run) { return factor_for(run).has_value(); }

 private:
  std::optional<double> factor_for(const RunFacts& run) {
    const auto found = factors_.find(run.gpu);
    if (found != factors_.end()) return found->second;
    auto factor = factor_of([&](const Residual* row) { return row->run.gpu == run.gpu; });
    if (!factor) {
      factor =
          factor_of([&](const Residual* row) { return row->run.generation == run.generation; });
    }
    factors_[run.gpu] = factor;
    return factor;
  }

  template <class Condition>
  std::optional<double> factor_of(Condition condition) const {
    Rows chosen;
    std::ranges::copy_if(rows_, std::back_inserter(chosen), condition);
    return fitted_factor(chosen);
  }

  Rows rows_;
  std::map<std::string, std::optional<double>> factors_;
};

/// Forecasts of a source from all others.
std::vector<Outcome> left_out(const ResidualTable& table, const std::string& source) {
  Rows others;
  for (const Residual& row : table.rows) {
    if (row.source != source) others.push_back(&row);
  }
  Fit fit(others);
  ResidualTable known;
  for (const Residual* row : others) {
    known.rows.push_back(*row);
    known.rows.back().measured_over_predicted = fit.ratio(*row);
  }
  std::vector<Outcome> outcomes;
  for (const Residual& row : table.rows) {
    if (row.source != source) continue;
    Outcome outcome{&row, fit.ratio(row), std::nullopt};
    RunFacts facts = row.run;
    facts.calibrated = fit.knows(facts);
    if (const auto interval = forecast_interval(facts, known)) {
      outcome.held = outcome.ratio >= interval->low && outcome.ratio <= interval->high;
    }
    outcomes.push_back(outcome);
  }
  return outcomes;
}

AccuracyScore score_of(std::string what, const std::vector<Outcome>& outcomes) {
  AccuracyScore made;
  made.what = std::move(what);
  made.rows = outcomes.size();
  const double each = 1 / static_cast<double>(outcomes.size());
  Rows rows;
  for (const Outcome& one : outcomes) rows.push_back(one.row);
  const std::vector<double> weights = group_weights(rows);
  const std::vector<double> equal(outcomes.size(), each);
  std::vector<double> absolute;
  double held = 0;
  double with_interval = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const double error = 1 / outcomes[i].ratio - 1;
    absolute.push_back(std::abs(error));
    made.bias += each * error;
    made.group_bias += weights[i] * error;
    if (!outcomes[i].held) continue;
    with_interval += 1;
    held += *outcomes[i].held ? 1 : 0;
  }
  made.median_abs_error = weighted_quantile(absolute, equal, 0.5);
  made.p90_abs_error = weighted_quantile(absolute, equal, 0.9);
  made.group_median_abs_error = weighted_quantile(absolute, weights, 0.5);
  made.group_p90_abs_error = weighted_quantile(absolute, weights, 0.9);
  if (with_interval > 0) made.coverage = held / with_interval;
  return made;
}

std::vector<RefitConstant> refit(const ResidualTable& table) {
  std::map<std::string, Rows> by_gpu;
  for (const Residual& row : table.rows) by_gpu[row.run.gpu].push_back(&row);
  std::vector<RefitConstant> constants;
  for (const auto& [gpu, rows] : by_gpu) {
    if (const auto factor = fitted_factor(rows)) constants.push_back({gpu, rows.size(), *factor});
  }
  return constants;
}

}  // namespace

LeaveOneOutReport leave_one_out(const ResidualTable& table) {
  LeaveOneOutReport report;
  if (table.rows.empty()) return report;
  std::vector<Outcome> shipped;
  std::vector<Outcome> uncalibrated;
  std::set<std::string> sources;
  for (const Residual& row : table.rows) {
    shipped.push_back({&row, row.measured_over_predicted, std::nullopt});
    uncalibrated.push_back({&row, row.measured_over_uncalibrated, std::nullopt});
    sources.insert(row.source);
  }
  std::vector<Outcome> all;
  std::vector<AccuracyScore> by_source;
  for (const std::string& source : sources) {
    const std::vector<Outcome> outcomes = left_out(table, source);
    all.insert(all.end(), outcomes.begin(), outcomes.end());
    by_source.push_back(score_of("  without " + source, outcomes));
  }
  report.scores = {score_of("constants as shipped", shipped),
                   score_of("no calibration on training runs", uncalibrated),
                   score_of("each source forecast from the others", all)};
  report.scores.insert(report.scores.end(), by_source.begin(), by_source.end());
  report.constants = refit(table);
  return report;
}

std::string to_text(const LeaveOneOutReport& report) {
  std::size_t width = 0;
  for (const AccuracyScore& one : report.scores) width = std::max(width, one.what.size());
  std::string text = fmt::format("{:<{}} {:>5} {:>9} {:>9} {:>9}  {:>9} {:>9} {:>9} {:>9}\n",
                                 "step time, by run | by group", width, "rows", "median", "p90",
                                 "bias", "| median", "p90", "bias", "within");
  for (const AccuracyScore& one : report.scores) {
    text += fmt::format(
        "{:<{}} {:>5} {:>7.1f} % {:>7.1f} % {:>+7.1f} %  {:>7.1f} % {:>7.1f} % {:>+7.1f} % {:>9}\n",
        one.what, width, one.rows, one.median_abs_error * 100, one.p90_abs_error * 100,
        one.bias * 100, one.group_median_abs_error * 100, one.group_p90_abs_error * 100,
        one.group_bias * 100,
        one.coverage ? fmt::format("{:.1f} %", *one.coverage * 100) : std::string("-"));
  }
  text += "\nwhat all sources together ask for: a factor on 1 - training_throttle\n";
  for (const RefitConstant& one : report.constants) {
    text += fmt::format("{:<{}} {:>5} {:>9.3f}\n", one.gpu, width, one.rows, one.factor);
  }
  return text;
}

}  // namespace shardsim::scenario
